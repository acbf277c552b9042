/// What became of an attempt to come back to a session.
package enum SessionClaim<Holder> {
    /// The session is the client's, and on its way from its holder: ``SessionRegister/arrived(_:at:detachedAt:)`` or
    /// ``SessionRegister/claimFailed(_:)`` has to follow. The new token is the only one to tell him.
    case claimed(SessionRegister<Holder>.Place, Holder, newToken: SessionToken)
    /// The session is there. The token is wrong, or the client isn't who it belongs to: nobody is told which.
    case invalid
    /// It is the client's, and just on its way to another connection of his. Worth another try in a moment.
    case underway
    /// No such session, or none any more.
    case unknown
}

extension SessionClaim: Sendable where Holder: Sendable {}

/// The tokens that are good for one session, as hashes: the last one given, and for a while the one before, in case the answer with the last
/// one was lost.
///
/// Where that one is used again, the one given meanwhile is good for a while too: its answer may have been no more than slow, or what was
/// slow is the request that came last.
struct SessionTokens: Sendable {
    private var current: Secret
    private var previous: Secret
    /// Never later than that.
    private var previousEnds: MonotonicTime
    /// Given for the previous one, before the current one was.
    private var meanwhile = Self.none
    private var meanwhileEnds = MonotonicTime(nanoseconds: 0)

    /// Nothing hashes to it but by chance of 1 in 2²⁵⁶.
    private static let none = Secret([UInt8](repeating: 0xff, count: 32))

    init(_ token: SessionToken) {
        current = token.hash
        previous = Self.none
        previousEnds = MonotonicTime(nanoseconds: 0)
    }

    /// What unknown sessions have, so that looking at them takes as long.
    private init() {
        current = Self.none
        previous = Self.none
        previousEnds = MonotonicTime(nanoseconds: 0)
    }

    static let ofNobody = SessionTokens()

    enum Match {
        case current, previous, meanwhile
    }

    /// Compares with all, whatever comes of the first.
    func match(_ digest: [UInt8], at time: MonotonicTime) -> Match? {
        let isCurrent = current.matches(digest)
        let isPrevious = previous.matches(digest)
        let isMeanwhile = meanwhile.matches(digest)
        if isCurrent { return .current }
        if isPrevious, time < previousEnds { return .previous }
        return isMeanwhile && time < meanwhileEnds ? .meanwhile : nil
    }

    /// The one that was used becomes the previous one. One that was so already keeps its end: nobody lives on an old token for ever.
    mutating func rotate(to token: SessionToken, usedBefore match: Match, at time: MonotonicTime, overlap: Duration) {
        switch match {
        case .current:
            (previous, previousEnds) = (current, time.advanced(by: overlap))
            meanwhile = Self.none
        case .previous: (meanwhile, meanwhileEnds) = (current, time.advanced(by: overlap))
        case .meanwhile:
            (previous, previousEnds) = (meanwhile, meanwhileEnds)
            (meanwhile, meanwhileEnds) = (current, time.advanced(by: overlap))
        }
        current = token.hash
    }
}

extension SessionRegister {
    /// How long the previous token is still good.
    package static var tokenOverlap: Duration { .seconds(30) }

    /// Hands a session over to a client that comes back to it, and gives it a new token.
    ///
    /// Hashing and comparing take the same time whichever of session, token and owner is wrong.
    ///
    /// - Parameter id: as the client sent it.
    /// - Parameter token: as the client sent it.
    /// - Parameter owner: who the client was verified to be on this connection.
    package mutating func claim(
        id: String, token: String, owner: SessionOwner, at time: MonotonicTime,
        using generator: inout some RandomNumberGenerator
    ) -> SessionClaim<Holder> {
        let isOfLength = id.utf8.count <= SessionPlaceLimits.maximumIDBytes
        let place = isOfLength ? self.place(of: id) : nil
        let entry = place.flatMap { entries[$0] }
        let match = (entry?.session?.tokens ?? .ofNobody).match(SessionToken.digest(of: token), at: time)
        let isOwner = Secret((entry?.owner ?? .anonymous).mark).matches(owner.mark)
        guard let place, let session = entry?.session else { return .unknown }
        guard let match, isOwner else { return .invalid }
        guard session.tokensBefore == nil else { return .underway }
        let newToken = SessionToken(using: &generator)
        var tokens = session.tokens
        tokens.rotate(to: newToken, usedBefore: match, at: time, overlap: Self.tokenOverlap)
        beginMove(of: place, tokens: tokens)
        return .claimed(place, session.holder, newToken: newToken)
    }
}
