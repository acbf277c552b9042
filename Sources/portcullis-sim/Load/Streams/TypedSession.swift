/// A session of the typed dialect as its client knows it: it outlives the connections that carry it.
struct TypedSession: Sendable {
    struct Identity: Hashable, Sendable {
        let id: String
        let token: String
    }

    /// What an answer means for the client.
    enum Event: Hashable, Sendable {
        /// A new session.
        case began
        case resumed
        case bytes([UInt8])
        /// So many bytes won't come: the gateway has said so.
        case gap(bytes: UInt64)
        /// The gateway no longer knows the session, or never did.
        case refusedToResume(code: String)
        case failed(code: String)
        case ended
        case wrong(ErrorKind)
    }

    /// How many messages are received before the gateway is told so.
    static let acknowledgeEvery = 64

    private(set) var identity: Identity?
    /// The highest number that has come.
    private(set) var lastSequence = 0
    private var lastAcknowledged = 0
    private var isResuming = false

    /// - Returns: the first message on a new connection.
    mutating func greeting(to target: TypedRequest.Target) -> [UInt8] {
        guard let identity else { return TypedRequest.connect(target) }
        isResuming = true
        return TypedRequest.resume(identity, lastSequence: lastSequence)
    }

    mutating func receive(_ message: [UInt8]) -> [Event] {
        guard let answer = TypedAnswer(message) else { return [.wrong(.badMessage)] }
        switch answer {
        case .session(let identity):
            self = TypedSession()
            self.identity = identity
            return [.began]
        case .resumed(let token):
            guard isResuming, let identity else { return [.wrong(.badMessage)] }
            isResuming = false
            self.identity = Identity(id: identity.id, token: token ?? identity.token)
            return [.resumed]
        case .data(let sequence, let payload): return take(sequence) + [.bytes(payload)]
        case .other(let sequence): return take(sequence)
        case .gap(let from, let to, let bytes):
            let wrong = from == lastSequence + 1 ? [] : [Event.wrong(.sequenceGap)]
            lastSequence = max(lastSequence, to)
            return wrong + [.gap(bytes: bytes)]
        case .error(let code): return error(code)
        case .disconnected:
            self = TypedSession()
            return [.ended]
        case .notice: return []
        }
    }

    private mutating func take(_ sequence: Int) -> [Event] {
        defer { lastSequence = max(lastSequence, sequence) }
        if sequence == lastSequence + 1 { return [] }
        return [.wrong(sequence > lastSequence ? .sequenceGap : .sequenceDoubled)]
    }

    private mutating func error(_ code: String) -> [Event] {
        guard isResuming, ["session_expired", "invalid_resume"].contains(code) else { return [.failed(code: code)] }
        self = TypedSession()
        return [.refusedToResume(code: code)]
    }

    /// - Returns: the message that tells what has come, when it is time for it.
    mutating func acknowledgement() -> [UInt8]? {
        guard let identity, lastSequence - lastAcknowledged >= Self.acknowledgeEvery else { return nil }
        lastAcknowledged = lastSequence
        return TypedRequest.acknowledge(identity, lastSequence: lastSequence)
    }
}
