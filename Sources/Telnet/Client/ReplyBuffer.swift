/// What waits to be sent to the target. It takes a reply whole or not at all, so that requests that nobody lets us answer cost no
/// memory: a target's requests beyond the limit go unanswered until the replies have been taken.
struct ReplyBuffer {
    /// An honest handshake takes a tenth of it.
    static let maximumBytes = 16_384

    private(set) var bytes: [UInt8] = []

    func hasRoom(for count: Int) -> Bool { count <= Self.maximumBytes - bytes.count }

    mutating func append(_ reply: [UInt8]) {
        if hasRoom(for: reply.count) { bytes += reply }
    }

    mutating func appendSubnegotiation(_ option: TelnetOption, _ payload: [UInt8]) {
        // What can't fit isn't worth escaping. Five bytes stand around the payload.
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
