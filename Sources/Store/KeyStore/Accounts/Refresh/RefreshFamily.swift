import WireText

/// The refresh tokens of one sign-in, each the successor of the one before. A family is bound to one key, and ends with
/// the passkey or the device that began it. All times are Unix milliseconds.
///
/// A store has no token: it finds the good one by its SHA-256, and keeps it sealed under a key that only the token
/// before it gives. So whoever has the token before can be told the good one again, and whoever reads the store can't.
package struct RefreshFamily: Hashable, Sendable {
    package let id: RefreshFamilyID
    package let account: AccountID
    package let beginner: RefreshBeginner
    /// The thumbprint of its key.
    package let key: [UInt8]
    /// The SHA-256 of the token that is good, and not used yet.
    package var hash: [UInt8]
    /// The use that made it the good one; nil: the family has just begun.
    package var last: LastUse?
    package let beganAt: Int64
    package var usedAt: Int64
    /// Of the good token.
    package var expiresAt: Int64

    package struct LastUse: Hashable, Sendable {
        /// The SHA-256 of the token that was used.
        package let hash: [UInt8]
        /// The good token, which succeeds it.
        package let sealed: [UInt8]
        /// Of the token that was used.
        package let expiresAt: Int64
        /// Later than ``RefreshUse/repeatMilliseconds``: that may be once.
        package var wasRepeatedLate: Bool

        package init(hash: [UInt8], sealed: [UInt8], expiresAt: Int64, wasRepeatedLate: Bool = false) {
            (self.hash, self.sealed, self.expiresAt) = (hash, sealed, expiresAt)
            self.wasRepeatedLate = wasRepeatedLate
        }
    }

    /// A family that begins.
    package init(
        id: RefreshFamilyID, account: AccountID, beginner: RefreshBeginner, key: [UInt8], hash: [UInt8], at time: Int64,
        expiresAt: Int64
    ) {
        (self.id, self.account, self.beginner, self.key, self.hash) = (id, account, beginner, key, hash)
        (last, beganAt, usedAt, self.expiresAt) = (nil, time, time, expiresAt)
    }

    package init(
        id: RefreshFamilyID, account: AccountID, beginner: RefreshBeginner, key: [UInt8], hash: [UInt8],
        last: LastUse?, beganAt: Int64, usedAt: Int64, expiresAt: Int64
    ) {
        (self.id, self.account, self.beginner, self.key, self.hash) = (id, account, beginner, key, hash)
        (self.last, self.beganAt, self.usedAt, self.expiresAt) = (last, beganAt, usedAt, expiresAt)
    }

    /// A family as a store may keep it.
    package var isWellFormed: Bool {
        key.count == RefreshLimits.hashBytes && hash.count == RefreshLimits.hashBytes
            && last.map {
                $0.hash.count == RefreshLimits.hashBytes && $0.sealed.count <= RefreshLimits.maximumSealedBytes
            }
                ?? true
    }
}

/// The name of a family: 16 random bytes. It isn't secret.
package struct RefreshFamilyID: NamedBytes, CustomStringConvertible {
    package static let length = 16

    package let bytes: [UInt8]

    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    /// - Returns: nil for anything but base64url of 16 bytes.
    package init?(text: String) {
        guard let bytes = Base64URL.decode(text), bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    /// base64url, 22 characters.
    package var text: String { Base64URL.encode(bytes) }

    package var description: String { text }
}

/// A family that was ended, and whose it was.
package struct RefreshFamilyEnd: Hashable, Sendable {
    package let account: AccountID
    package let family: RefreshFamilyID

    package init(of family: RefreshFamilyID, from account: AccountID) {
        (self.account, self.family) = (account, family)
    }

    /// - Returns: nil for any other number of bytes than those of an account and a family.
    package init?(bytes: [UInt8]) {
        guard let account = AccountID(bytes: Array(bytes.prefix(AccountID.length))),
            let family = RefreshFamilyID(bytes: Array(bytes.dropFirst(AccountID.length)))
        else { return nil }
        self.init(of: family, from: account)
    }

    /// The account, and then the family: the ends of an account stand together.
    package var bytes: [UInt8] { account.bytes + family.bytes }
}

/// What a family ends with.
package enum RefreshBeginner: Hashable, Sendable {
    case passkey(PasskeyMark)
    case device(KeyID)

    package enum Kind: Int64, Sendable, CaseIterable {
        case passkey = 1
        case device = 2
    }

    package var kind: Kind {
        switch self {
        case .passkey: .passkey
        case .device: .device
        }
    }

    package var bytes: [UInt8] {
        switch self {
        case .passkey(let mark): mark.bytes
        case .device(let key): key.bytes
        }
    }

    /// - Returns: nil for a wrong number of bytes.
    package init?(_ kind: Kind, bytes: [UInt8]) {
        switch kind {
        case .passkey:
            guard let mark = PasskeyMark(bytes: bytes) else { return nil }
            self = .passkey(mark)
        case .device:
            guard let key = KeyID(bytes: bytes) else { return nil }
            self = .device(key)
        }
    }
}

package enum RefreshLimits {
    /// Of an account. Of more the one that was used longest ago ends.
    package static let maximumFamilies = 32
    /// `REFRESH_TOKEN_TTL_DAYS`
    package static let defaultLifetimeDays = 30
    /// `REFRESH_REPEAT_SECONDS`
    package static let defaultRepeatSeconds = 60
    /// Of a refresh token in base64url.
    package static let maximumTokenBytes = 200
    package static let hashBytes = 32
    /// Of a sealed token.
    package static let maximumSealedBytes = 256
    /// Ended families of an account that a store tells of, the newest.
    package static let maximumEnds = 64
    /// The same with those of the last ``recentMilliseconds``: a gateway that has missed changes reads them again.
    package static let maximumRecentEnds = 1_024
    /// In the store's time. Gateways hear of an end within a second, and otherwise as soon as the store answers.
    package static let recentMilliseconds: Int64 = 600_000
    /// Expired families that one transaction removes; of all families, where they end.
    package static let maximumExpired = 500
    /// Families whose sessions close at once when an operator ends all; those of the others within minutes.
    package static let maximumToldAtOnce = 10_000
}
