/// A player's account: who comes back with one of its passkeys is the same player. It has no name, no address and no
/// password. All times are Unix milliseconds.
package struct Account: Sendable, Equatable {
    package let id: AccountID
    package let origin: AccountOrigin
    package let madeAt: Int64
    /// The last time somebody signed in; nil: nobody has since it was made.
    package var lastUsedAt: Int64?
    /// Set by the operator: nobody signs in any more.
    package var closedAt: Int64?
    /// In the order in which they were made.
    package var passkeys: [Passkey]
    /// In the order in which they joined.
    package var devices: [AccountDevice]

    package init(
        id: AccountID, origin: AccountOrigin, madeAt: Int64, lastUsedAt: Int64? = nil, closedAt: Int64? = nil,
        passkeys: [Passkey], devices: [AccountDevice] = []
    ) {
        (self.id, self.origin, self.madeAt, self.lastUsedAt) = (id, origin, madeAt, lastUsedAt)
        (self.closedAt, self.passkeys, self.devices) = (closedAt, passkeys, devices)
    }

    package var isClosed: Bool { closedAt != nil }

    package var standing: AccountStanding {
        AccountStanding(id: id, origin: origin, isClosed: isClosed, passkeys: Set(passkeys.map(\.mark)))
    }

    /// Whether anyone could make it, before the given time, and nobody has signed in to it. A closed one stays listed,
    /// and so does one with a proof: its passkey may be kept for the day on which the device is lost.
    package func isUnused(madeBefore time: Int64) -> Bool {
        origin.kind == .open && lastUsedAt == nil && closedAt == nil && madeAt < time
    }
}

/// How an account began.
package struct AccountOrigin: Hashable, Sendable {
    package enum Kind: Int64, Sendable, CaseIterable {
        /// With an attested device: an assertion, an access token, or a ticket for one of these.
        case device = 1
        /// With a ticket of the operator.
        case ticket = 2
        /// With a client certificate; it counts as one on every route, and ends with it.
        case certificate = 3
        /// With a development token; it counts as one on every route, and ends with it.
        case development = 4
        /// Without a proof, as anyone could.
        case open = 5
    }

    /// The maximum size of ``proof``: a chain of certificates is the largest.
    package static let maximumProofBytes = 16_384

    package let kind: Kind
    /// What the account ends with, as the gate has encoded it; nil: it ends with nothing.
    package let proof: [UInt8]?

    /// - Returns: nil unless there is a proof of a length that is allowed exactly where the account ends with one.
    package init?(_ kind: Kind, proof: [UInt8]? = nil) {
        guard (proof != nil) == kind.endsWithProof, (proof?.count ?? 1) <= Self.maximumProofBytes,
            proof?.isEmpty != true
        else { return nil }
        (self.kind, self.proof) = (kind, proof)
    }

    private init(lasting kind: Kind) { (self.kind, proof) = (kind, nil) }

    package static let device = AccountOrigin(lasting: .device)
    package static let ticket = AccountOrigin(lasting: .ticket)
    package static let open = AccountOrigin(lasting: .open)
}

extension AccountOrigin.Kind {
    package var endsWithProof: Bool { self == .certificate || self == .development }
}

/// What the gate has to know of an account whose token is shown.
package struct AccountStanding: Hashable, Sendable {
    package let id: AccountID
    package let origin: AccountOrigin
    package let isClosed: Bool
    package let passkeys: Set<PasskeyMark>
    /// Of refresh tokens.
    package let families: Set<RefreshFamilyID>

    package init(
        id: AccountID, origin: AccountOrigin, isClosed: Bool, passkeys: Set<PasskeyMark>,
        families: Set<RefreshFamilyID> = []
    ) {
        (self.id, self.origin, self.isClosed) = (id, origin, isClosed)
        (self.passkeys, self.families) = (passkeys, families)
    }
}

/// An attested device of an account.
package struct AccountDevice: Hashable, Sendable {
    package let key: KeyID
    /// The player's own words, at most ``AccountLimits/maximumLabelBytes``. Whoever shows it escapes it.
    package let label: String
    package let joinedAt: Int64

    package init(key: KeyID, label: String, joinedAt: Int64) {
        (self.key, self.label, self.joinedAt) = (key, label, joinedAt)
    }
}
