import WireText

/// The kept output of one session to its client: the numbers, the newest messages, and the resulting state.
struct SessionHistory: Codable, Sendable {
    private(set) var buffer: ReplayBuffer
    private(set) var snapshot = StateSnapshot()

    /// - Parameter maximumBytes: 0: the session can't be resumed, and nothing is kept.
    init(numbering: ReplayBuffer.Numbering, maximumBytes: Int) {
        buffer = ReplayBuffer(numbering: numbering, maximumBytes: maximumBytes)
    }

    var isKept: Bool { buffer.maximumBytes > 0 }
    /// The last number assigned.
    var seq: UInt64 { buffer.seq }

    /// Longer text is split into several messages: messages are discarded whole, and each should discard as little as
    /// possible.
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

/// The state that a client must receive again after a resume, however old it is: the last message of each package,
/// since a gauge shows its last value, and whether the target hides the player's input.
///
/// Bounded: the packages with the oldest messages are dropped first.
struct StateSnapshot: Codable, Sendable {
    static let maximumPackages = 64
    /// The limit for names and payloads together. A larger single message isn't kept.
    static let maximumBytes = 16_384

    private struct Entry: Codable {
        let name: String
        let message: KeptMessage

        var size: Int { name.utf8.count + message.payload.count }
    }

    /// Sorted by number.
    private var entries: [Entry] = []
    private(set) var byteCount = 0
    /// nil: the target hasn't set it.
    private(set) var echo: KeptMessage?

    var packageCount: Int { entries.count }

    /// - Parameter package: the message's key; the last message of each key is kept.
    mutating func keep(_ message: KeptMessage, package: String?) {
        if message.kind.isEcho {
            echo = message
        } else if let package {
            keep(Entry(name: package, message: message))
        }
    }

    private mutating func keep(_ entry: Entry) {
        if let older = entries.firstIndex(where: { $0.name.hasSameBytes(as: entry.name) }) { remove(at: older) }
        guard entry.size <= Self.maximumBytes else { return }
        while entries.count >= Self.maximumPackages || byteCount > Self.maximumBytes - entry.size { remove(at: 0) }
        entries.append(entry)
        byteCount += entry.size
    }

    private mutating func remove(at index: Int) {
        byteCount -= entries.remove(at: index).size
    }

    /// The state that `replay` doesn't contain: the packages in their order of arrival, then the echo.
    func messages(notIn replay: Replay) -> [KeptMessage] {
        let packages = entries.map(\.message).filter { $0.seq <= replay.start }
        guard let echo, !replay.messages.contains(where: \.kind.isEcho) else { return packages }
        return packages + [echo]
    }
}
