/// Why and with which code a session's WebSocket is closed (RFC 6455 §7.4; 1014 from the IANA registry).
package enum CloseReason: Hashable, Sendable, CaseIterable {
    case targetClosed
    case shuttingDown
    case targetUnreachable
    /// It didn't answer within `MUD_DIAL_TIMEOUT_MS`.
    case targetTimedOut
    /// It was reached, and TLS with it failed.
    case targetNotSecured
    case targetLost

    /// Another connection has resumed the session.
    case sessionReplaced
    /// The client's identity or address was revoked or blocked.
    case deviceBlocked
    /// There is no such session to resume, or no longer.
    case sessionExpired
    case invalidResume
    /// Its client didn't come back in time: there is nobody to tell.
    case graceOver
    /// The session is older than `SESSION_TIMEOUT_HOURS`. A rule of this gateway's (1008), and no normal end (1000): the client may begin
    /// anew at once.
    case sessionTimeout
    /// It made room for another one of its identity's.
    case sessionEvicted
    /// The client has asked for too many targets on one connection.
    case tooManyDials
    /// The identity or the address has as many sessions as it may have.
    case tooManySessions
    /// In dialects that have no place for an error.
    case messageTooBig

    // Ordered by a translation.
    case clientDisconnected
    case targetNotAllowed
    case noTargetNamed
    case alreadyConnected
    case malformedConnect
    case targetBroken

    package var code: UInt16 { closeFrame.code }

    /// At most 123 bytes of UTF-8.
    package var text: String { closeFrame.text }

    private var closeFrame: (code: UInt16, text: String) {
        switch self {
        case .targetClosed: (code: 1000, text: "target closed the connection")
        case .shuttingDown: (code: 1001, text: "gateway is shutting down")
        case .targetUnreachable, .targetTimedOut: (code: 1014, text: "target is unreachable")
        case .targetNotSecured: (code: 1014, text: "TLS with the target failed")
        case .targetLost: (code: 1014, text: "connection to the target was lost")
        case .sessionReplaced: (code: 1008, text: "session_replaced")
        case .deviceBlocked: (code: 1008, text: "device_blocked")
        case .sessionExpired, .graceOver: (code: 1008, text: "session_expired")
        case .invalidResume: (code: 1008, text: "invalid_resume")
        case .sessionTimeout: (code: 1008, text: "session_timeout")
        case .sessionEvicted: (code: 1008, text: "session_evicted")
        case .tooManyDials: (code: 1008, text: "too many connects")
        case .tooManySessions: (code: 1013, text: "too many sessions")
        case .messageTooBig: (code: 1009, text: "message too big")
        case .clientDisconnected: (code: 1000, text: "client disconnected")
        case .targetNotAllowed: (code: 1008, text: "target is not allowed")
        case .noTargetNamed: (code: 1008, text: "no target was named in time")
        case .alreadyConnected: (code: 1008, text: "connection already has a session")
        case .malformedConnect: (code: 1008, text: "malformed connect")
        case .targetBroken: (code: 1014, text: "target sent a broken stream")
        }
    }
}
