/// Why and with which code a session's WebSocket is closed (RFC 6455 §7.4; 1014 from the IANA registry).
package struct CloseReason: Hashable, Sendable {
    package let code: UInt16
    /// At most 123 bytes of UTF-8.
    package let text: String

    package static let targetClosed = CloseReason(code: 1000, text: "target closed the connection")
    package static let shuttingDown = CloseReason(code: 1001, text: "gateway is shutting down")
    package static let targetUnreachable = CloseReason(code: 1014, text: "target is unreachable")
    package static let targetLost = CloseReason(code: 1014, text: "connection to the target was lost")

    package static let deviceBlocked = CloseReason(code: 1008, text: "device_blocked")

    // Ordered by a translation.
    static let clientDisconnected = CloseReason(code: 1000, text: "client disconnected")
    package static let targetNotAllowed = CloseReason(code: 1008, text: "target is not allowed")
    package static let noTargetNamed = CloseReason(code: 1008, text: "no target was named in time")
    static let alreadyConnected = CloseReason(code: 1008, text: "connection already has a session")
    static let malformedConnect = CloseReason(code: 1008, text: "malformed connect")
    static let limitReached = CloseReason(code: 1013, text: "connection limit exceeded")
    static let targetBroken = CloseReason(code: 1014, text: "target sent a broken stream")
}
