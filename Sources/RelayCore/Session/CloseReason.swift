/// Why and with which code a session's WebSocket is closed (RFC 6455 §7.4; 1014 from the IANA registry).
package struct CloseReason: Hashable, Sendable {
    package let code: UInt16
    /// At most 123 bytes of UTF-8.
    package let text: String

    package static let targetClosed = CloseReason(code: 1000, text: "target closed the connection")
    package static let shuttingDown = CloseReason(code: 1001, text: "gateway is shutting down")
    package static let targetUnreachable = CloseReason(code: 1014, text: "target is unreachable")
    package static let targetLost = CloseReason(code: 1014, text: "connection to the target was lost")

    /// Another connection has resumed the session.
    package static let sessionReplaced = CloseReason(code: 1008, text: "session_replaced")
    /// The client's identity or address was revoked or blocked.
    package static let deviceBlocked = CloseReason(code: 1008, text: "device_blocked")
    /// There is no such session to resume, or no longer.
    package static let sessionExpired = CloseReason(code: 1008, text: "session_expired")
    package static let invalidResume = CloseReason(code: 1008, text: "invalid_resume")
    /// The session is older than `SESSION_TIMEOUT_HOURS`. A rule of this gateway's (1008), and no normal end (1000): the client may begin
    /// anew at once.
    package static let sessionTimeout = CloseReason(code: 1008, text: "session_timeout")
    /// It made room for another one of its identity's.
    package static let sessionEvicted = CloseReason(code: 1008, text: "session_evicted")
    /// The client has asked for too many targets on one connection.
    package static let tooManyDials = CloseReason(code: 1008, text: "too many connects")
    /// The identity or the address has as many sessions as it may have.
    package static let tooManySessions = CloseReason(code: 1013, text: "too many sessions")

    // Ordered by a translation.
    package static let clientDisconnected = CloseReason(code: 1000, text: "client disconnected")
    package static let targetNotAllowed = CloseReason(code: 1008, text: "target is not allowed")
    package static let noTargetNamed = CloseReason(code: 1008, text: "no target was named in time")
    static let alreadyConnected = CloseReason(code: 1008, text: "connection already has a session")
    static let malformedConnect = CloseReason(code: 1008, text: "malformed connect")
    static let targetBroken = CloseReason(code: 1014, text: "target sent a broken stream")
}
