/// One use of a refresh token, with the successor that the gate has made for it.
package struct RefreshUse: Hashable, Sendable {
    package let family: RefreshFamilyID
    /// The thumbprint of the key that has signed the proof.
    package let key: [UInt8]
    /// The SHA-256 of the token.
    package let hash: [UInt8]
    /// The SHA-256 of its successor, if this use makes one.
    package let successor: [UInt8]
    /// The successor under a key that the token gives.
    package let sealed: [UInt8]
    /// Unix milliseconds.
    package let time: Int64
    /// Of the successor.
    package let expiresAt: Int64
    /// How long after a use it may be repeated as often as the client likes; later it may be once.
    package let repeatMilliseconds: Int64
    /// When the gateway asks, in the time of a fleet's store. What comes so late that the gateway has given it up is
    /// ``KeyRegistryError/busy``, and changes nothing: its client may have gone on, and would seem to be two. nil: it
    /// is never late.
    package var askedAt: Int64?

    package init(
        family: RefreshFamilyID, key: [UInt8], hash: [UInt8], successor: [UInt8], sealed: [UInt8], time: Int64,
        expiresAt: Int64, repeatMilliseconds: Int64, askedAt: Int64? = nil
    ) {
        (self.family, self.key, self.hash) = (family, key, hash)
        (self.successor, self.sealed) = (successor, sealed)
        (self.time, self.expiresAt, self.repeatMilliseconds) = (time, expiresAt, repeatMilliseconds)
        self.askedAt = askedAt
    }
}

extension RefreshUse {
    fileprivate func isSoon(after past: Int64) -> Bool { (time - past).magnitude <= repeatMilliseconds }
}

/// The outcome of a use. Only `rotated`, `repeated` and `reused` have changed anything.
package enum RefreshOutcome: Hashable, Sendable {
    /// The token is used, and the successor of the use is good. Exactly one of several callers gets this.
    case rotated(RefreshGrant)
    /// The token was used before, and its successor wasn't: that is good, not the one of this use.
    case repeated(RefreshGrant, sealed: [UInt8])
    /// The mark of its proof isn't unused: nothing has changed. Never `spent`.
    case refused(MarkSpending)
    /// There is no such family, or it has ended.
    case unknown
    case expired
    /// The family is bound to another key.
    case wrongKey(AccountID)
    /// It is repeated late, and was before.
    case repeatedTooOften(AccountID)
    /// Its successor was used before: the family has ended now.
    case reused(AccountID)
}

/// What a family's use is good for.
package struct RefreshGrant: Hashable, Sendable {
    /// With the passkey that began the family, and with the family, and no others.
    package let account: AccountStanding
    package let beginner: RefreshBeginner
    /// Of the good token.
    package let expiresAt: Int64

    package init(account: AccountStanding, beginner: RefreshBeginner, expiresAt: Int64) {
        (self.account, self.beginner, self.expiresAt) = (account, beginner, expiresAt)
    }
}

/// The rule of all stores for one use. Each store applies it in one step with its change.
extension RefreshFamily {
    package enum Decision: Hashable, Sendable {
        /// - Parameter family: as it is stored next.
        case rotated(RefreshFamily)
        /// - Parameter family: as it is stored next, if that differs.
        case repeated(RefreshFamily, sealed: [UInt8])
        case expired, wrongKey, repeatedTooOften, reused
    }

    /// Who hasn't the key learns nothing else, and changes nothing.
    package func using(_ use: RefreshUse) -> Decision {
        guard key == use.key else { return .wrongKey }
        guard use.time < expiresAt else { return .expired }
        var family = self
        if use.hash == hash {
            family.hash = use.successor
            family.last = LastUse(hash: use.hash, sealed: use.sealed, expiresAt: expiresAt)
            (family.usedAt, family.expiresAt) = (use.time, use.expiresAt)
            return .rotated(family)
        }
        guard let last, last.hash == use.hash else { return .reused }
        guard use.time < last.expiresAt else { return .expired }
        // A clock that was set back makes it late, too.
        if use.isSoon(after: usedAt) { return .repeated(self, sealed: last.sealed) }
        guard !last.wasRepeatedLate else { return .repeatedTooOften }
        family.last?.wasRepeatedLate = true
        return .repeated(family, sealed: last.sealed)
    }
}

extension RefreshGrant {
    /// - Parameter account: the family's.
    package init(_ family: RefreshFamily, of account: AccountStanding) {
        let passkeys: Set<PasskeyMark> = if case .passkey(let mark) = family.beginner { [mark] } else { [] }
        self.init(
            account: AccountStanding(
                id: account.id, origin: account.origin, isClosed: account.isClosed, passkeys: passkeys,
                families: [family.id]),
            beginner: family.beginner, expiresAt: family.expiresAt)
    }
}
