import KeyStore

/// What the challenge of a registration says of it: for which account the passkey is, and whether the client has to
/// show again what it has shown for the options. The challenge's MAC protects it, so nothing is stored in between.
struct RegistrationGrant: Equatable {
    enum Purpose: UInt8 {
        /// A new account, with the proof of the options.
        case begin = 1
        /// A new account of a client that can't show its proof twice, or has none: the challenge stands for it.
        case beginByBearer = 2
        /// A further passkey of an account, with the proof of the options.
        case add = 3
        /// The same of a client that has used up the operator's ticket for the account.
        case addByBearer = 4
    }

    let purpose: Purpose
    /// What an account begins with that the challenge stands for; 0 for the others.
    private let kind: UInt8
    let account: AccountID

    private static let byteCount = 2 + AccountID.length

    init(_ purpose: Purpose, _ account: AccountID) { (self.purpose, kind, self.account) = (purpose, 0, account) }

    /// - Parameter origin: one that the account doesn't end with.
    init(bearer origin: AccountOrigin, _ account: AccountID) {
        (purpose, kind, self.account) = (.beginByBearer, UInt8(origin.kind.rawValue), account)
    }

    init?(_ payload: [UInt8]) {
        guard payload.count == Self.byteCount, let purpose = Purpose(rawValue: payload[0]),
            let account = AccountID(bytes: Array(payload.dropFirst(2)))
        else { return nil }
        (self.purpose, kind, self.account) = (purpose, payload[1], account)
    }

    var payload: [UInt8] { [purpose.rawValue, kind] + account.bytes }

    /// Of an account that the challenge stands for.
    var origin: AccountOrigin? { AccountOrigin.Kind(rawValue: Int64(kind)).flatMap { AccountOrigin($0) } }

    /// Whether the client shows its proof again.
    var needsProof: Bool { purpose == .begin || purpose == .add }

    /// Whether the account is there.
    var adds: Bool { purpose == .add || purpose == .addByBearer }
}
