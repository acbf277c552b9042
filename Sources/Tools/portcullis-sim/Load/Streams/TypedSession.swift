/// A session of the typed dialect from its client's view. It outlives the connections that carry it.
struct TypedSession: Sendable {
    struct Identity: Hashable, Sendable {
        let id: String
        let token: String
    }

    /// The meaning of an answer for the client.
    enum Event: Hashable, Sendable {
        /// A new session.
        case began
        case resumed
        case bytes([UInt8])
        /// The gateway announced that this many bytes won't arrive.
        case gap(bytes: UInt64)
        case inputAcknowledged(UInt64)
        /// The gateway doesn't know the session, or no longer does.
        case refusedToResume(code: String)
        /// The session can't be resumed at the moment.
        case postponed
        case failed(code: String)
        case ended
        case wrong(ErrorKind)
    }

    private enum Phase {
        case idle
        /// `resume` was sent and not answered.
        case resuming
        case replaying(ReplayCheck)
        case live
    }

    /// The number of messages between two acknowledgements to the gateway.
    static let acknowledgeEvery = 64

    /// The gateway's `OUTPUT_BUFFER_BYTES`.
    let bufferBytes: Int
    private(set) var identity: Identity?
    /// The highest number received.
    private(set) var lastSequence = 0
    /// How often the token was sent without receiving an answer.
    private(set) var unansweredResumes = 0
    private var lastAcknowledged = 0
    private var phase = Phase.idle

    init(bufferBytes: Int) {
        self.bufferBytes = bufferBytes
    }

    var isResuming: Bool {
        if case .resuming = phase { true } else { false }
    }

    /// - Returns: the first message on a new connection.
    mutating func greeting(to target: TypedRequest.Target) -> [UInt8] {
        guard let identity else { return TypedRequest.connect(target) }
        phase = .resuming
        unansweredResumes += 1
        return TypedRequest.resume(identity, lastSequence: lastSequence)
    }

    mutating func receive(_ message: [UInt8]) -> [Event] {
        guard let answer = TypedAnswer(message) else { return [.wrong(.badMessage)] }
        let late = isReplay(answer) ? [] : endOfReplay()
        return late + take(answer)
    }

    private mutating func take(_ answer: TypedAnswer) -> [Event] {
        switch answer {
        case .session(let identity):
            self = TypedSession(bufferBytes: bufferBytes)
            self.identity = identity
            phase = .live
            return [.began]
        case .resumed(let identity): return resumed(identity)
        case .data(let sequence, let payload, let isReplayed):
            return (isReplayed ? replayed(sequence, bytes: payload.count) : take(sequence)) + [.bytes(payload)]
        case .other(let sequence, let isReplayed):
            return isReplayed ? replayed(sequence, bytes: nil) : take(sequence)
        case .gap(let from, let to, let bytes): return gap(from, to, bytes)
        case .inputAcknowledged(let number): return [.inputAcknowledged(number)]
        case .error(let code): return error(code)
        case .disconnected:
            self = TypedSession(bufferBytes: bufferBytes)
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
        guard isResuming else { return [.failed(code: code)] }
        switch code {
        case "session_expired", "invalid_resume":
            self = TypedSession(bufferBytes: bufferBytes)
            return [.refusedToResume(code: code)]
        case "rate_limited": return [.postponed]
        default: return [.failed(code: code)]
        }
    }

    /// - Returns: the acknowledgement of received messages, if one is due.
    mutating func acknowledgement() -> [UInt8]? {
        guard let identity, lastSequence - lastAcknowledged >= Self.acknowledgeEvery else { return nil }
        lastAcknowledged = lastSequence
        return TypedRequest.acknowledge(identity, lastSequence: lastSequence)
    }
}

// MARK: The answer to a resume

extension TypedSession {
    private mutating func resumed(_ now: Identity) -> [Event] {
        guard isResuming, let before = identity, now.id == before.id else { return [.wrong(.badMessage)] }
        phase = .replaying(ReplayCheck(bufferBytes: bufferBytes))
        unansweredResumes = 0
        identity = now
        return (now.token == before.token ? [.wrong(.tokenKept)] : []) + [.resumed]
    }

    /// - Parameter bytes: of its payload; nil if unknown.
    private mutating func replayed(_ sequence: Int, bytes: Int?) -> [Event] {
        guard case .replaying(var check) = phase else { return [.wrong(.replayMisplaced)] + take(sequence) }
        // The earlier state comes first, with its original numbers.
        if bytes == nil, check.messages == 0, sequence <= lastSequence { return [] }
        check.count(bytes: bytes)
        phase = .replaying(check)
        return take(sequence)
    }

    private mutating func gap(_ from: Int, _ to: Int, _ bytes: UInt64) -> [Event] {
        guard case .replaying(var check) = phase, check.messages == 0, check.gapBytes == nil else {
            return [.wrong(.badMessage)]
        }
        check.gapBytes = bytes
        phase = .replaying(check)
        let wrong = from == lastSequence + 1 ? [] : [Event.wrong(.wrongGap)]
        lastSequence = max(lastSequence, to)
        return wrong + [.gap(bytes: bytes)]
    }

    private func isReplay(_ answer: TypedAnswer) -> Bool {
        switch answer {
        case .data(_, _, let isReplayed), .other(_, let isReplayed): isReplayed
        case .gap, .resumed: true
        case .session, .inputAcknowledged, .error, .disconnected, .notice: false
        }
    }

    /// Any other message comes after the replay, which can now be checked.
    private mutating func endOfReplay() -> [Event] {
        guard case .replaying(let check) = phase else { return [] }
        phase = .live
        return check.fault.map { [.wrong($0)] } ?? []
    }
}

/// Checks whether a replay and the gap before it match the size of the gateway's buffer.
struct ReplayCheck: Hashable, Sendable {
    /// The gateway keeps one message per sixteen bytes of its buffer, and at least this many.
    private static let leastMessages = 64
    /// No message is larger than this, nor larger than an eighth of the buffer or the least size.
    private static let mostMessageBytes = 8_192
    private static let leastMessageBytes = 128

    let bufferBytes: Int
    var gapBytes: UInt64?
    private(set) var messages = 0
    private var bytes = 0
    private var isExact = true

    init(bufferBytes: Int) {
        self.bufferBytes = bufferBytes
    }

    /// - Parameter bytes: nil: a message of unknown size.
    mutating func count(bytes: Int?) {
        messages += 1
        self.bytes += bytes ?? 0
        isExact = isExact && bytes != nil
    }

    /// The buffer holds no more than its size; and before a message was discarded, the buffer was full except for the
    /// room of the last discarded message.
    var fault: ErrorKind? {
        if bytes > bufferBytes || messages > mostMessages { return .bufferExceeded }
        guard let gapBytes, isExact, messages < mostMessages else { return nil }
        let last = min(Int(clamping: gapBytes), largestMessageBytes)
        return bytes + last > bufferBytes ? nil : .wrongGap
    }

    private var mostMessages: Int { max(Self.leastMessages, bufferBytes / 16) }
    private var largestMessageBytes: Int {
        max(Self.leastMessageBytes, min(Self.mostMessageBytes, bufferBytes / 8))
    }
}
