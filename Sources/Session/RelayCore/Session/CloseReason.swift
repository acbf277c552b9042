/// The reason and the code with which a session's WebSocket is closed (RFC 6455 §7.4; 1014 from the IANA registry).
package enum CloseReason: Hashable, Sendable, CaseIterable {
    case targetClosed
    case shuttingDown
    /// A new process takes over: the client may resume its session there, or begin a new one, at once.
    case gatewayUpgrading
    /// The gateway of the fleet that had the session is dead or can't be reached: the client may come back at once, and
    /// is told then what has become of it.
    case gatewayLost
    case targetUnreachable
    /// It didn't answer within `TARGET_DIAL_TIMEOUT_MS`.
    case targetTimedOut
    /// It was reached, and TLS with it failed.
    case targetNotSecured
    case targetLost

    /// Another connection has resumed the session.
    case sessionReplaced
    /// The client's identity or address was revoked or blocked.
    case deviceBlocked
    /// The session to resume doesn't exist, or no longer does.
    case sessionExpired
    case invalidResume
    /// Its client didn't resume in time. No Close frame is sent: there is no WebSocket.
    case graceOver
    /// The session is older than `SESSION_TIMEOUT_HOURS`. This is a rule of the gateway (1008), not a normal end
    /// (1000): the client may begin a new session at once.
    case sessionTimeout
    /// It was evicted to make room for another session of its identity.
    case sessionEvicted
    /// An operator has closed it, over the control socket or in the console.
    case closedByOperator
    /// The client has requested too many targets on one connection.
    case tooManyDials
    /// The identity or the address has reached its limit of sessions.
    case tooManySessions
    /// Only in dialects without error messages.
    case messageTooBig

    // Requested by a translation.
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
        case .gatewayUpgrading: (code: 1012, text: "gateway is being upgraded")
        case .gatewayLost: (code: 1012, text: "gateway of the session was lost")
        case .targetUnreachable, .targetTimedOut: (code: 1014, text: "target is unreachable")
        case .targetNotSecured: (code: 1014, text: "TLS with the target failed")
        case .targetLost: (code: 1014, text: "connection to the target was lost")
        case .sessionReplaced: (code: 1008, text: "session_replaced")
        case .deviceBlocked: (code: 1008, text: "device_blocked")
        case .sessionExpired, .graceOver: (code: 1008, text: "session_expired")
        case .invalidResume: (code: 1008, text: "invalid_resume")
        case .sessionTimeout: (code: 1008, text: "session_timeout")
        case .sessionEvicted: (code: 1008, text: "session_evicted")
        case .closedByOperator: (code: 1008, text: "closed_by_operator")
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

/// Why a session has ended: one word, the same in the log, the audit log and the metrics. Only the first cause counts,
/// not its consequences.
package enum EndReason: String, Hashable, Sendable, CaseIterable {
    // The client.
    /// Its Close frame.
    case clientClosed = "client_closed"
    /// It ended the session with a message of its dialect.
    case clientDisconnected = "client_disconnected"
    /// Its connection ended without a Close frame.
    case clientLost = "client_lost"
    /// It sent nothing at all for three times `PING_INTERVAL_SECONDS`.
    case clientSilent = "client_silent"
    /// It violated RFC 6455.
    case clientProtocolError = "client_protocol_error"
    case messageTooBig = "message_too_big"
    case noTargetNamed = "no_target_named"
    case malformedConnect = "malformed_connect"
    case alreadyConnected = "already_connected"
    case tooManyDials = "too_many_connects"

    // The target.
    /// It ended the connection in order.
    case targetClosed = "target_closed"
    /// The connection to it broke.
    case targetLost = "target_lost"
    /// Its compressed stream is corrupt or a compression bomb.
    case targetBroken = "target_broken_stream"
    case targetUnreachable = "target_unreachable"
    case targetTimedOut = "target_timed_out"
    /// TLS with it failed.
    case targetNotSecured = "target_not_secured"
    case targetNotAllowed = "target_not_allowed"

    // The gateway's rules.
    case tooManySessions = "too_many_sessions"
    /// The session to resume doesn't exist.
    case sessionExpired = "session_expired"
    case invalidResume = "invalid_resume"
    /// The session continues on another connection.
    case sessionReplaced = "session_replaced"
    /// Its client didn't resume within `RESUME_GRACE_MINUTES`.
    case graceOver = "resume_grace_over"
    case sessionTimeout = "session_timeout"
    case sessionEvicted = "session_evicted"
    case deviceBlocked = "device_blocked"
    case closedByOperator = "closed_by_operator"
    case shuttingDown = "shutting_down"
    /// Its client was sent to the process that replaces this one, and had no target yet, or the time for such sessions
    /// was over.
    case gatewayUpgrading = "gateway_upgrading"
    /// Another gateway of the fleet had it, and was lost.
    case gatewayLost = "gateway_lost"
    /// It goes on in the process that replaces this one.
    case handedOver = "handed_over"
}

extension CloseReason {
    package var end: EndReason {
        switch self {
        case .targetClosed: .targetClosed
        case .shuttingDown: .shuttingDown
        case .gatewayUpgrading: .gatewayUpgrading
        case .gatewayLost: .gatewayLost
        case .targetUnreachable: .targetUnreachable
        case .targetTimedOut: .targetTimedOut
        case .targetNotSecured: .targetNotSecured
        case .targetLost: .targetLost
        case .sessionReplaced: .sessionReplaced
        case .deviceBlocked: .deviceBlocked
        case .sessionExpired: .sessionExpired
        case .invalidResume: .invalidResume
        case .graceOver: .graceOver
        case .sessionTimeout: .sessionTimeout
        case .sessionEvicted: .sessionEvicted
        case .closedByOperator: .closedByOperator
        case .tooManyDials: .tooManyDials
        case .tooManySessions: .tooManySessions
        case .messageTooBig: .messageTooBig
        case .clientDisconnected: .clientDisconnected
        case .targetNotAllowed: .targetNotAllowed
        case .noTargetNamed: .noTargetNamed
        case .alreadyConnected: .alreadyConnected
        case .malformedConnect: .malformedConnect
        case .targetBroken: .targetBroken
        }
    }
}
