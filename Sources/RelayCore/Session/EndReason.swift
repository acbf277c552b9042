/// Why a session has ended: one word, the same in the log, the audit log and the metrics. Only the first cause counts; what follows from it
/// is its consequence.
package enum EndReason: String, Hashable, Sendable, CaseIterable {
    // The client.
    /// Its Close frame.
    case clientClosed = "client_closed"
    /// It asked for the end in its dialect.
    case clientDisconnected = "client_disconnected"
    /// Its connection ended without a Close frame.
    case clientLost = "client_lost"
    /// Nothing at all came from it for `PEER_SILENCE_SECONDS`.
    case clientSilent = "client_silent"
    /// It broke RFC 6455.
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
    /// What it compressed can't be inflated, or is a bomb.
    case targetBroken = "target_broken_stream"
    case targetUnreachable = "target_unreachable"
    case targetTimedOut = "target_timed_out"
    /// TLS with it failed.
    case targetNotSecured = "target_not_secured"
    case targetNotAllowed = "target_not_allowed"

    // The gateway's rules.
    case tooManySessions = "too_many_sessions"
    /// There was no such session to resume.
    case sessionExpired = "session_expired"
    case invalidResume = "invalid_resume"
    /// Another connection has the session, which goes on there.
    case sessionReplaced = "session_replaced"
    /// Its client didn't come back within `RESUME_GRACE_MINUTES`.
    case graceOver = "resume_grace_over"
    case sessionTimeout = "session_timeout"
    case sessionEvicted = "session_evicted"
    case deviceBlocked = "device_blocked"
    case shuttingDown = "shutting_down"
}

extension CloseReason {
    package var end: EndReason {
        switch self {
        case .targetClosed: .targetClosed
        case .shuttingDown: .shuttingDown
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
