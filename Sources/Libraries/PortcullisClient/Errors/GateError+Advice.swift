extension GateError {
    /// The gate's own word for a refusal, stable; nil for everything that didn't come from the gate.
    public var code: String? { refusal.flatMap { $0.code.isEmpty ? nil : $0.code } }

    /// What the gateway's operator can look up; nil for everything that didn't come from the gate.
    public var requestId: String? { refusal?.requestId }

    public var refusal: Refusal? {
        switch self {
        case .refused(let refusal), .clockSkew(_, let refusal): refusal
        default: nil
        }
    }

    /// Whether the same call may succeed later.
    public var retry: RetryAdvice {
        switch self {
        case .refused(let refusal): Self.advice(on: refusal)
        case .clockSkew: .afterUserAction
        case .network(.pinMismatch), .network(.untrustedServer): .never
        case .network(.offline): .afterUserAction
        case .network, .timedOut: .after(Backoff.requests.first)
        case .appAttest(let failure): failure.isPassing ? .after(Backoff.requests.longest / 2) : .never
        case .passkey(let failure): failure.retry
        case .unlock, .signInRequired: .afterUserAction
        case .circuitOpen(_, let seconds), .mustWait(_, let seconds): .after(seconds)
        case .storage, .deviceKey: .after(Backoff.requests.first)
        case .inputRefused(.queueFull): .after(Backoff.requests.first)
        case .notConnected, .cancelled: .now
        case .configuration, .appAttestUnsupported, .malformedAnswer, .redirected, .inputRefused: .never
        }
    }

    private static func advice(on refusal: Refusal) -> RetryAdvice {
        switch refusal.reaction {
        case .newKey, .newChallenge, .newToken, .useNonce, .newSession: .now
        case .wait: .after(refusal.retryAfter ?? Backoff.requests.first)
        case .setClock, .otherCredentials: .afterUserAction
        case .giveUp, .fixConfiguration: .never
        }
    }

    /// The failure passes by itself: the operation backs off, and makes no new key for it.
    var isPassing: Bool {
        switch self {
        case .network(.pinMismatch), .network(.untrustedServer): false
        case .network, .timedOut, .mustWait, .storage: true
        case .refused(let refusal): refusal.reaction == .wait
        case .appAttest(let failure): failure.isPassing
        default: false
        }
    }

    /// What the server, or the circuit breaker, wants the client to wait.
    var wishedDelay: Double? {
        switch self {
        case .refused(let refusal): refusal.retryAfter
        case .mustWait(_, let seconds), .circuitOpen(_, let seconds): seconds
        default: nil
        }
    }
}

extension GateError {
    /// An error of the library as it is, and any other as a broken connection.
    init(wrapping error: any Error) {
        switch error {
        case let error as GateError: self = error
        case let error as AppAttestFailure: self = error == .unsupported ? .appAttestUnsupported : .appAttest(error)
        case let error as UnlockFailure: self = .unlock(error)
        case let error as PasskeyFailure: self = .passkey(error)
        case let error as NetworkProblem: self = .network(error)
        case let error as AnswerFault: self = .malformedAnswer(error)
        case let error as ConfigurationProblem: self = .configuration(error)
        case let error as InputProblem: self = .inputRefused(error)
        case is CancellationError: self = .cancelled
        default: self = .network(.other("\(type(of: error))"))
        }
    }
}
