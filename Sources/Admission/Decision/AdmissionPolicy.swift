/// One rule of the gate that holds for every admission method. A policy refuses or passes, and admits nobody.
protocol AdmissionPolicy: Sendable {
    func evaluate(_ attempt: AdmissionAttempt) -> PolicyOutcome
}

enum PolicyOutcome: Sendable {
    case passed
    /// Passed, with a secret that every client has to show.
    case showed(SharedSecret)
    case refused(Refusal)

    static func refused(_ answer: RefusalAnswer, _ detail: String, retryAfter: Int? = nil) -> PolicyOutcome {
        .refused(Refusal(answer, detail: detail, retryAfter: retryAfter))
    }
}
