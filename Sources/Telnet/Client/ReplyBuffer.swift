/// Replies that wait to be sent to the target. A reply is stored whole or not at all, so requests whose answers can't be sent cost
/// no memory: the target's requests beyond the limit go unanswered until the replies have been taken.
struct ReplyBuffer {
    /// A normal handshake uses a tenth of it.
    static let maximumBytes = 16_384

    private(set) var bytes: [UInt8] = []

    func hasRoom(for count: Int) -> Bool { count <= Self.maximumBytes - bytes.count }

    mutating func append(_ reply: [UInt8]) {
        if hasRoom(for: reply.count) { bytes += reply }
    }

    mutating func appendSubnegotiation(_ option: TelnetOption, _ payload: [UInt8]) {
        // A payload that can't fit isn't worth escaping. The framing takes five bytes.
        guard hasRoom(for: payload.count + 5) else { return }
        var reply: [UInt8] = []
        TelnetEncoder.appendSubnegotiation(option, payload, to: &reply)
        append(reply)
    }

    mutating func take() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }
}
