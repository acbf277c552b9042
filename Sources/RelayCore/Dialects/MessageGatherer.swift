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
