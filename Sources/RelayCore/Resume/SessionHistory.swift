/// What one session has said to its client, as far as it's kept: numbers, the newest messages, and the state that they have led to.
struct SessionHistory: Sendable {
    private(set) var buffer: ReplayBuffer
    private(set) var snapshot = StateSnapshot()

    /// - Parameter maximumBytes: 0: the session can't be resumed, and nothing is kept.
    init(numbering: ReplayBuffer.Numbering, maximumBytes: Int) {
        buffer = ReplayBuffer(numbering: numbering, maximumBytes: maximumBytes)
    }

    var isKept: Bool { buffer.maximumBytes > 0 }
    /// The last number that was given.
    var seq: UInt64 { buffer.seq }

    /// Longer text is said in several messages: what is let go later is let go a message at a time, and should be no more than it must.
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

/// A message before it has a number.
struct MessageContent: Hashable, Sendable {
    let kind: KeptMessage.Kind
    let payload: ArraySlice<UInt8>
    /// By what a message of the kind `package` is known.
    let package: String?

    init(_ kind: KeptMessage.Kind, _ payload: ArraySlice<UInt8> = [], package: String? = nil) {
        self.kind = kind
        self.payload = payload
        self.package = package
    }
}
