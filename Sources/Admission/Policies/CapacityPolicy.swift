import WireText

/// Refuses while all leases are taken, before any credential is used up. The lease itself is taken as the last step.
///
/// A client that claims an identity with a session may be resuming it, and may use the reserve. Its claim is verified before it gets a
/// lease.
struct CapacityPolicy: AdmissionPolicy {
    /// Seconds.
    static let retryAfter = 5

    let leases: SessionLeases
    let mayComeBack: @Sendable (Identity, IPAddress) -> Bool

    func evaluate(_ attempt: AdmissionAttempt) -> PolicyOutcome {
        guard leases.isFull else { return .passed }
        if !leases.isFullForReturning, mayComeBack(attempt) { return .passed }
        return .refused(.atCapacity, "at MAX_SESSIONS_GLOBAL", retryAfter: Self.retryAfter)
    }

    private func mayComeBack(_ attempt: AdmissionAttempt) -> Bool {
        if attempt.chosen?.claim.isReturning == true { return true }
        let claimed = attempt.presented.lazy.compactMap(\.claim.identity).first
        return mayComeBack(claimed ?? .anonymous, attempt.request.address)
    }
}
