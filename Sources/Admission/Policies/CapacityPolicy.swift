/// Refuses while all sessions are taken, before anything of the client's is spent. The place itself is claimed at the very end.
struct CapacityPolicy: AdmissionPolicy {
    /// Seconds.
    static let retryAfter = 5

    let slots: SessionSlots

    func evaluate(_ request: AdmissionRequest) -> PolicyOutcome {
        slots.isFull ? .refused(.atCapacity, "at MAX_SESSIONS_GLOBAL", retryAfter: Self.retryAfter) : .noOpinion
    }
}
