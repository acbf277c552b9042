/// What became of an attempt to come back to a session.
package enum SessionClaim<Holder> {
    /// The session is the client's, and is to be moved from its holder: ``SessionRegister/arrived(_:at:detachedAt:)`` or
    /// ``SessionRegister/claimFailed(_:)`` has to follow. The client is sent the new token.
    case claimed(SessionRegister<Holder>.Place, Holder, newToken: SessionToken)
    /// The session exists. The token is wrong, or the session belongs to another identity: no client is told which.
    case invalid
    /// It is the client's, and just moving to another connection of the client. Worth another try in a moment.
    case underway
    /// No such session, or none any more.
    case unknown
}

extension SessionClaim: Sendable where Holder: Sendable {}

/// The tokens that are good for one session, as hashes: the last one given, and the one before it, in case the answer with the last one was
/// lost. The one before stays good until the client has confirmed that the new one has reached it, and for a short time after that: a client
/// that is offline for minutes must not lose its session with one lost answer.
///
/// Where the one before is used again, the one given meanwhile stays good as well: its answer may have been only slow, or the slow one is
/// the request that came last.
struct SessionTokens: Sendable {
    private var current: Secret
    private var previous: Secret
    private var previousEnds: MonotonicTime
    /// Given for the previous one, before the current one was.
    private var meanwhile = Self.none
    private var meanwhileEnds = MonotonicTime(nanoseconds: 0)

    /// Not confirmed yet.
    private static let open = MonotonicTime(nanoseconds: .max)

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

    /// The one that was used becomes the previous one. One that has an end keeps it: nobody lives on an old token for ever.
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

    /// The client has the current one: the others end after `overlap`, and not later than they would anyway.
    mutating func confirm(at time: MonotonicTime, overlap: Duration) {
        let end = time.advanced(by: overlap)
        previousEnds = min(previousEnds, end)
        meanwhileEnds = min(meanwhileEnds, end)
    }
}

/// A session and its token, as an upgrade names them in its query. Nothing of it is verified.
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

extension SessionRegister {
    /// How long the previous token is still good once the client has confirmed the new one.
    package static var tokenOverlap: Duration { .seconds(30) }

    /// The client of the session has shown that the newest token has reached it.
    package mutating func tokenConfirmed(_ place: Place, at time: MonotonicTime) {
        changeTokens(of: place) { $0.confirm(at: time, overlap: Self.tokenOverlap) }
    }

    /// The client that may come back to this session with its token alone: that of a session that began with a ticket, which has no
    /// credentials that it could show again. `nil` for every other session, and where session or token is wrong.
    ///
    /// Nothing changes by this; ``claim(id:token:owner:at:using:)`` decides about the session itself. Hashing and comparing take the same
    /// time whatever is wrong.
    package func bearer(of credential: SessionCredential, at time: MonotonicTime) -> Principal? {
        let isOfLength = credential.id.utf8.count <= SessionPlaceLimits.maximumIDBytes
        let session = (isOfLength ? place(of: credential.id) : nil).flatMap { entries[$0]?.session }
        let match = (session?.tokens ?? .ofNobody).match(SessionToken.digest(of: credential.token), at: time)
        return match == nil ? nil : session?.bearer
    }

    /// Hands a session over to a client that comes back to it, and gives it a new token.
    ///
    /// Hashing and comparing take the same time whichever of session, token and owner is wrong.
    ///
    /// - Parameter id: as the client sent it.
    /// - Parameter token: as the client sent it.
    /// - Parameter owner: the identity that was verified for this connection.
    package mutating func claim(
        id: String, token: String, owner: Identity, at time: MonotonicTime,
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
        tokens.rotate(to: newToken, usedBefore: match)
        beginMove(of: place, tokens: tokens)
        return .claimed(place, session.holder, newToken: newToken)
    }
}
