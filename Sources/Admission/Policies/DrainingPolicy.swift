/// A gateway that is shutting down begins nothing new.
struct DrainingPolicy: AdmissionPolicy {
    /// Seconds; about as long as a restart takes.
    static let retryAfter = 5

    let drain: DrainSwitch

    func evaluate(_ request: AdmissionRequest) -> PolicyOutcome {
        drain.isDraining ? .refused(.draining, "draining", retryAfter: Self.retryAfter) : .noOpinion
    }
}
