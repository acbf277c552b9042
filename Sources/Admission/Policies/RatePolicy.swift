/// Bounds guessing by address, and spares clients that share an address behind carrier NAT.
///
/// - An address with few failures isn't limited here.
/// - An address that has reached its limit of failed upgrades is refused, unless the request presents credentials. Each verification is
///   charged to the address, whatever its result. When the budget is used up, credentials aren't verified. (If they are wrong, the gate
///   answers 429.)
struct RatePolicy: AdmissionPolicy {
    let limits: UpgradeLimits
    /// If no shared secret is required, an `Authorization` header isn't a credential.
    let checksSecrets: Bool

    func evaluate(_ attempt: AdmissionAttempt) -> PolicyOutcome {
        guard case .over(let seconds) = limits.failuresSoFar(attempt.request) else { return .passed }
        let cost = cost(of: attempt)
        guard cost > 0 else {
            return .refused(
                .rateLimited, "over FAILED_UPGRADES_PER_MINUTE, no credentials", retryAfter: seconds)
        }
        switch limits.payForVerification(attempt.request, cost: cost) {
        case .within: return .passed
        case .over(let seconds):
            return .refused(.rateLimited, "over VERIFICATIONS_PER_SECOND", retryAfter: seconds)
        }
    }

    /// A session's token costs a look-up even if it matches no session.
    private func cost(of attempt: AdmissionAttempt) -> Int {
        let request = attempt.request
        let showsMore = request.session != nil || checksSecrets && request.authorization != nil
        return max(attempt.chosen?.method.cost ?? 0, showsMore ? 1 : 0)
    }
}
