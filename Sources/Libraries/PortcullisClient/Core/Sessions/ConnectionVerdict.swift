/// What the end of a connection means for its session.
enum ConnectionVerdict: Sendable, Equatable {
    /// Connect again, and resume.
    ///
    /// - Parameter after: seconds that the gateway wants the client to wait.
    case comeBack(after: Double?)
    case end(ConnectionEnd)

    /// Seconds before the next attempt, for a service that couldn't be reached.
    static let serviceDelay = 30.0
    /// … and for a gateway that has too many sessions.
    static let fullDelay = 5.0

    static func of(_ end: WebSocketEnd, _ core: SessionCore) -> ConnectionVerdict {
        if core.isClosing { return .end(ConnectionEnd(.clientClosed, .nothing)) }
        if let told = core.toldEnd { return .end(told) }
        if core.isPostponed { return .comeBack(after: 1) }
        switch end {
        case .closed(let code, let reason): return of(code: code, reason: reason, core)
        case .lost: return lost(core, after: core.hint)
        case .violated(let fault):
            return .end(ConnectionEnd(.protocolViolation, .connectAgain, .malformedAnswer(fault)))
        }
    }

    private static func of(code: UInt16, reason: String, _ core: SessionCore) -> ConnectionVerdict {
        switch code {
        case 1000: .end(ConnectionEnd(.serviceClosed, .connectAgain))
        case 1002, 1003, 1007, 1009:
            .end(ConnectionEnd(.protocolViolation, .connectAgain, .malformedAnswer(.webSocket("closed with \(code)"))))
        case 1008: policy(reason)
        case 1013:
            core.canResume
                ? .comeBack(after: max(core.hint ?? 0, fullDelay))
                : .end(ConnectionEnd(.tooManySessions, .connectLater(seconds: fullDelay)))
        case 1014: .end(ConnectionEnd(.serviceUnreachable, .connectLater(seconds: serviceDelay)))
        default: lost(core, after: core.hint)
        }
    }

    /// The session may still be there. A session of raw isn't, once it has begun.
    private static func lost(_ core: SessionCore, after seconds: Double?) -> ConnectionVerdict {
        let hasBegun = core.identity != nil || core.isLive
        if hasBegun, !core.canResume { return .end(ConnectionEnd(.connectionLost, .connectAgain)) }
        return .comeBack(after: seconds)
    }

    private static let policies: [(reason: String, end: ConnectionEnd)] = [
        ("session_replaced", ConnectionEnd(.sessionReplaced, .nothing)),
        ("device_blocked", ConnectionEnd(.blocked, .giveUp)),
        ("session_expired", ConnectionEnd(.sessionExpired, .connectAgain)),
        ("invalid_resume", ConnectionEnd(.sessionExpired, .connectAgain)),
        ("session_timeout", ConnectionEnd(.sessionTimeout, .connectAgain)),
        ("closed_by_operator", ConnectionEnd(.closedByOperator, .askUser)),
        ("session_evicted", ConnectionEnd(.sessionEvicted, .askUser)),
        ("target is not allowed", ConnectionEnd(.serviceNotAllowed, .giveUp)),
    ]

    private static func policy(_ reason: String) -> ConnectionVerdict {
        if let row = policies.first(where: { $0.reason.isSame(as: reason) }) { return .end(row.end) }
        return .end(
            ConnectionEnd(
                .failed, .askUser, .refused(Refusal(status: 101, code: "", message: RefusalReader.harmless(reason)))))
    }
}
