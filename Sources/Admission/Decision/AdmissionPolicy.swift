/// One rule of the gate for every admission method. A policy refuses or passes a request; it never admits one.
protocol AdmissionPolicy: Sendable {
    func evaluate(_ attempt: AdmissionAttempt) -> PolicyOutcome
}

enum PolicyOutcome: Sendable {
    case passed
    /// Passed; the client presented a valid shared secret.
    case showed(SharedSecret)
    case refused(Refusal)

    static func refused(_ answer: RefusalAnswer, _ detail: String, retryAfter: Int? = nil) -> PolicyOutcome {
        .refused(Refusal(answer, detail: detail, retryAfter: retryAfter))
    }
}
