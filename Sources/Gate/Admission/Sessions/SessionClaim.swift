/// The outcome of an attempt to resume a session.
package enum SessionClaim<Holder> {
    /// The session belongs to the client and must be moved from its holder: call
    /// ``SessionRegister/adopted(_:by:detachedAt:)`` or ``SessionRegister/claimFailed(_:)`` next. The client is sent
    /// the new token.
    case claimed(SessionRegister<Holder>.Lease, Holder, newToken: SessionToken)
    /// The session exists, but the token is wrong or the session belongs to another identity. The client isn't told
    /// which.
    case invalid
    /// The session belongs to the client, but is being moved to another connection of the client. The client can retry
    /// in a moment.
    case underway
    /// There is no such session, or it has ended.
    case unknown
}

extension SessionClaim: Sendable where Holder: Sendable {}

/// The hashes of a session's valid tokens: the last one issued, and the previous one in case the answer with the last
/// one was lost. The previous token stays valid until the client has confirmed the new one, and for a short time after
/// that, so a client that is offline for minutes doesn't lose its session because of one lost answer.
///
/// If the previous token is used again, the one issued in between stays valid too: its answer may only have been slow,
/// or the last request may be the delayed one.
struct SessionTokens: Codable, Sendable {
    private var current: Secret
    private var previous: Secret
    private var previousEnds: MonotonicTime
    /// Issued for the previous one, before the current one.
    private var meanwhile = Self.none
    private var meanwhileEnds = MonotonicTime(nanoseconds: 0)

    /// Not confirmed yet.
    private static let open = MonotonicTime(nanoseconds: .max)

    /// No text is known to hash to it.
    private static let none = Secret([UInt8](repeating: 0xff, count: 32))

    init(_ token: SessionToken) {
        current = token.hash
        previous = Self.none
        previousEnds = MonotonicTime(nanoseconds: 0)
    }

    /// For unknown sessions, so that checking them takes the same time.
    private init() {
        current = Self.none
        previous = Self.none
        previousEnds = MonotonicTime(nanoseconds: 0)
    }

    static let ofNobody = SessionTokens()

    enum Match {
        case current, previous, meanwhile
    }

    /// Compares with all tokens, even after a match.
    func match(_ digest: [UInt8], at time: MonotonicTime) -> Match? {
        let isCurrent = current.matches(digest)
        let isPrevious = previous.matches(digest)
        let isMeanwhile = meanwhile.matches(digest)
        if isCurrent { return .current }
        if isPrevious, time < previousEnds { return .previous }
        return isMeanwhile && time < meanwhileEnds ? .meanwhile : nil
    }

    /// The token that was used becomes the previous one. If it already has an expiry time, it keeps it, so an old token
    /// can't be used forever.
    mutating func rotate(to token: SessionToken, usedBefore match: Match) {
        switch match {
        case .current:
            (previous, previousEnds) = (current, Self.open)
            meanwhile = Self.none
        case .previous: (meanwhile, meanwhileEnds) = (current, Self.open)
        case .meanwhile:
            (previous, previousEnds) = (meanwhile, meanwhileEnds)
            (meanwhile, meanwhileEnds) = (current, Self.open)
        }
        current = token.hash
    }

    /// The client has the current token. The others expire after `overlap`, or earlier if they would have.
    mutating func confirm(at time: MonotonicTime, overlap: Duration) {
        let end = time.advanced(by: overlap)
        previousEnds = min(previousEnds, end)
        meanwhileEnds = min(meanwhileEnds, end)
    }
}

/// A session and its token, from the query of an upgrade. Unverified.
package struct SessionCredential: Sendable, CustomStringConvertible, CustomReflectable {
    package let id: String
    package let token: String

    package init(id: String, token: String) {
        self.id = id
        self.token = token
    }

    package var description: String { "(session credential)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// A session of this gateway, named with its token. Only the register makes one.
package struct FoundSession: Sendable {
    private let owner: Identity

    init(owner: Identity) { self.owner = owner }

    /// In constant time.
    func belongs(to identity: Identity) -> Bool { Secret(owner.mark).matches(identity.mark) }
}

extension SessionRegister {
    /// How long the previous token stays valid after the client has confirmed the new one.
    package static var tokenOverlap: Duration { .seconds(30) }

    /// The session's client has confirmed that it received the newest token.
    package mutating func tokenConfirmed(_ lease: Lease, at time: MonotonicTime) {
        changeTokens(of: lease) { $0.confirm(at: time, overlap: Self.tokenOverlap) }
    }

    /// The client that may resume this session with its token alone, because the session began with a ticket and the
    /// client has no credentials to present again. `nil` for every other session, and if the session or the token is
    /// wrong.
    ///
    /// This changes nothing; ``claim(id:token:owner:at:using:)`` decides about the session itself. Hashing and
    /// comparing take constant time, whatever is wrong.
    package func bearer(of credential: SessionCredential, at time: MonotonicTime) -> Principal? {
        let session = entry(of: credential.id)?.session
        let match = (session?.tokens ?? .ofNobody).match(SessionToken.digest(of: credential.token), at: time)
        return match == nil ? nil : session?.bearer
    }

    /// The session that another gateway's client names, if its token is good. Changes nothing, and takes the same time
    /// whatever is wrong.
    package func find(_ credential: SessionCredential, at time: MonotonicTime) -> FoundSession? {
        let entry = entry(of: credential.id)
        let match = (entry?.session?.tokens ?? .ofNobody).match(SessionToken.digest(of: credential.token), at: time)
        guard match != nil, let entry else { return nil }
        return FoundSession(owner: entry.owner.identity)
    }

    private func entry(of id: String) -> Entry? {
        id.utf8.count <= SessionLeaseLimits.maximumIDBytes ? lease(of: id).flatMap { entries[$0] } : nil
    }

    /// Hands a session over to a client that resumes it, and issues a new token.
    ///
    /// Hashing and comparing take the same time whether the session, the token or the owner is wrong.
    ///
    /// - Parameter id: as the client sent it.
    /// - Parameter token: as the client sent it.
    /// - Parameter owner: the identity that was verified for this connection.
    package mutating func claim(
        id: String, token: String, owner: Identity, at time: MonotonicTime,
        using generator: inout some RandomNumberGenerator
    ) -> SessionClaim<Holder> {
        let isOfLength = id.utf8.count <= SessionLeaseLimits.maximumIDBytes
        let lease = isOfLength ? self.lease(of: id) : nil
        let entry = lease.flatMap { entries[$0] }
        let match = (entry?.session?.tokens ?? .ofNobody).match(SessionToken.digest(of: token), at: time)
        let isOwner = Secret((entry?.owner.identity ?? .anonymous).mark).matches(owner.mark)
        guard let lease, let session = entry?.session else { return .unknown }
        guard let match, isOwner else { return .invalid }
        guard session.tokensBefore == nil else { return .underway }
        let newToken = SessionToken(using: &generator)
        var tokens = session.tokens
        tokens.rotate(to: newToken, usedBefore: match)
        beginMove(of: lease, tokens: tokens)
        return .claimed(lease, session.holder, newToken: newToken)
    }
}
