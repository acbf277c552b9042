/// The kept output of one session to its client: the numbers, the newest messages, and the resulting state.
struct SessionHistory: Sendable {
    private(set) var buffer: ReplayBuffer
    private(set) var snapshot = StateSnapshot()

    /// - Parameter maximumBytes: 0: the session can't be resumed, and nothing is kept.
    init(numbering: ReplayBuffer.Numbering, maximumBytes: Int) {
        buffer = ReplayBuffer(numbering: numbering, maximumBytes: maximumBytes)
    }

    var isKept: Bool { buffer.maximumBytes > 0 }
    /// The last number assigned.
    var seq: UInt64 { buffer.seq }

    /// Longer text is split into several messages: messages are discarded whole, and each should discard as little as possible.
    var maximumTextBytes: Int {
        isKept ? max(Self.leastTextBytes, min(Self.mostTextBytes, buffer.maximumBytes / 8)) : .max
    }
    private static let leastTextBytes = 128
    private static let mostTextBytes = 8_192

    /// - Returns: the message's number.
    mutating func record(_ content: MessageContent) -> UInt64 {
        let seq = buffer.append(content.kind, content.payload)
        if isKept, content.package != nil || content.kind.isEcho {
            let message = KeptMessage(kind: content.kind, seq: seq, payload: content.payload)
            snapshot.keep(message, package: content.package)
        }
        return seq
    }

    mutating func acknowledge(through seq: UInt64) {
        buffer.acknowledge(through: seq)
    }

    mutating func clientLeft() {
        buffer.clientLeft()
    }

    mutating func clientCame() {
        buffer.clientCame()
    }
}

/// A message without its number.
struct MessageContent: Hashable, Sendable {
    let kind: KeptMessage.Kind
    let payload: ArraySlice<UInt8>
    /// The key of a message of the kind `package`.
    let package: String?

    init(_ kind: KeptMessage.Kind, _ payload: ArraySlice<UInt8> = [], package: String? = nil) {
        self.kind = kind
        self.payload = payload
        self.package = package
    }
}
