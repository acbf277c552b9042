/// Why and with which code a session's WebSocket is closed (RFC 6455 §7.4; 1014 from the IANA registry).
package enum CloseReason: Hashable, Sendable {
    case targetClosed
    case shuttingDown
    case targetUnreachable
    case targetLost

    /// Another connection has resumed the session.
    case sessionReplaced
    /// The client's identity or address was revoked or blocked.
    case deviceBlocked
    /// There is no such session to resume, or no longer.
    case sessionExpired
    case invalidResume
    /// The session is older than `SESSION_TIMEOUT_HOURS`. A rule of this gateway's (1008), and no normal end (1000): the client may begin
    /// anew at once.
    case sessionTimeout
    /// It made room for another one of its identity's.
    case sessionEvicted
    /// The client has asked for too many targets on one connection.
    case tooManyDials
    /// The identity or the address has as many sessions as it may have.
    case tooManySessions

    // Ordered by a translation.
    case clientDisconnected
    case targetNotAllowed
    case noTargetNamed
    case alreadyConnected
    case malformedConnect
    case targetBroken

    package var code: UInt16 {
        switch self {
        case .targetClosed, .clientDisconnected: 1000
        case .shuttingDown: 1001
        case .sessionReplaced, .deviceBlocked, .sessionExpired, .invalidResume, .sessionTimeout, .sessionEvicted,
            .tooManyDials, .targetNotAllowed, .noTargetNamed, .alreadyConnected, .malformedConnect:
            1008
        case .tooManySessions: 1013
        case .targetUnreachable, .targetLost, .targetBroken: 1014
        }
    }

    /// At most 123 bytes of UTF-8.
    package var text: String {
        switch self {
        case .targetClosed: "target closed the connection"
        case .shuttingDown: "gateway is shutting down"
        case .targetUnreachable: "target is unreachable"
        case .targetLost: "connection to the target was lost"
        case .sessionReplaced: "session_replaced"
        case .deviceBlocked: "device_blocked"
        case .sessionExpired: "session_expired"
        case .invalidResume: "invalid_resume"
        case .sessionTimeout: "session_timeout"
        case .sessionEvicted: "session_evicted"
        case .tooManyDials: "too many connects"
        case .tooManySessions: "too many sessions"
        case .clientDisconnected: "client disconnected"
        case .targetNotAllowed: "target is not allowed"
        case .noTargetNamed: "no target was named in time"
        case .alreadyConnected: "connection already has a session"
        case .malformedConnect: "malformed connect"
        case .targetBroken: "target sent a broken stream"
        }
    }
}
