import KeyStore

/// A session's entry in the register, on its way to the process that replaces this one.
package struct CarriedSession: Codable, Sendable {
    package let id: String
    let tokens: SessionTokens
    package let owner: CarriedIdentity
    /// Where the session began.
    package let address: String
    let detachedAt: MonotonicTime
    /// The client that may resume with the token alone.
    package let bearer: CarriedPrincipal?
    /// Several clients may have its owner's identity; programs of before don't say.
    var isShared: Bool?
}

/// A valid ticket.
package struct CarriedTicket: Codable, Sendable {
    /// Of its text, which nobody but its bearer has.
    let hash: [UInt8]
    let id: TicketID
    /// `nil`: the operator issued it.
    let holder: CarriedPrincipal?
    /// Where its client asked for it; programs of before don't say.
    let address: String?
    let expires: MonotonicTime
    let chainEnd: MonotonicTime
    let uses: Int
    /// It was issued for several uses; programs of before don't say.
    var isShared: Bool?
    /// That the operator's ticket proves.
    var account: AccountID?
}

/// The challenges that were used and haven't expired.
package struct CarriedSpentSet: Codable, Sendable {
    static let entryBytes = 24

    /// Milliseconds since the epoch of the challenges.
    let latest: UInt64
    let challenges: [UInt8]
}

/// What challenges of the earlier process are recognised by, and which of them were used.
package struct CarriedChallenges: Codable, Sendable {
    let key, tokenKey: Secret
    /// Programs of before don't say.
    var signedKey: Secret?
    let epoch: MonotonicTime
    /// Milliseconds that a challenge was valid for.
    let timeToLive: UInt64
    let spent, spentForRegistrations, spentForTokens: CarriedSpentSet
    /// As `signedKey`.
    var spentForSigned: CarriedSpentSet?
}
