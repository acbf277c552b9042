/// Assembles the pieces of a message, up to a limit.
struct MessageGatherer: Sendable {
    private let limit: Int
    private var gathered: [UInt8] = []
    private var isOversized = false

    enum Message: Hashable {
        case complete(ArraySlice<UInt8>)
        case oversized
    }

    init(limit: Int) {
        self.limit = limit
    }

    /// - Returns: the whole message with its last piece; nil before that. A message of one piece isn't copied.
    mutating func take(_ piece: ArraySlice<UInt8>, isLast: Bool) -> Message? {
        isOversized = isOversized || piece.count > limit - gathered.count
        guard isLast else {
            if isOversized { gathered = [] } else { gathered.append(contentsOf: piece) }
            return nil
        }
        defer { reset() }
        if isOversized { return .oversized }
        return .complete(gathered.isEmpty ? piece : (gathered + piece)[...])
    }

    /// The next piece begins a new message.
    mutating func beginAnew() {
        reset()
    }

    private mutating func reset() {
        gathered = []
        isOversized = false
    }
}

/// The three size limits of a client's message. `MAX_MESSAGE_BYTES` limits the content: text and data without escapes
/// and names, or the payload itself in dialects without JSON.
package enum MessageSize {
    /// Escapes make text longer: by at most a factor of three for a character outside ASCII.
    static let escaping = 3
    /// Everything besides the text: names, braces and a number.
    static let envelopeBytes = 1_024
    /// Messages up to this factor are read to their end, so that they can be answered. Longer ones close the connection
    /// with 1009.
    static let answering = 16

    /// The most bytes assembled from a message in pieces.
    static func gathered(_ maximum: Int) -> Int { escaping * maximum + envelopeBytes }

    /// The most bytes of a message on the wire.
    package static func onTheWire(_ maximum: Int) -> Int { answering * maximum + envelopeBytes }
}
