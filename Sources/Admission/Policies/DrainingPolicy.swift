/// Refuses new sessions while the gateway shuts down.
struct DrainingPolicy: AdmissionPolicy {
    /// Seconds; about as long as a restart takes.
    static let retryAfter = 5

    let drain: DrainSwitch

    func evaluate(_ attempt: AdmissionAttempt) -> PolicyOutcome {
        drain.isDraining ? .refused(.draining, "draining", retryAfter: Self.retryAfter) : .passed
    }
}
