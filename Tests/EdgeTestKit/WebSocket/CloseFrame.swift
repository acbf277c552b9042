/// The content of a Close frame (RFC 6455 section 5.5.1).
package struct CloseFrame: Sendable, Equatable {
    /// Nil when the frame was empty.
    package let code: Int?
    package let reason: String

    package init(parsing frame: WebSocketFrame) throws { try self.init(frame) }

    init(_ frame: WebSocketFrame) throws {
        guard frame.payload.count != 1, let reason = String(validating: frame.payload.dropFirst(2), as: UTF8.self)
        else {
            throw EdgeTestError("a malformed Close: \(frame)")
        }
        code = frame.payload.isEmpty ? nil : Int(frame.payload[0]) << 8 | Int(frame.payload[1])
        self.reason = reason
    }
}
