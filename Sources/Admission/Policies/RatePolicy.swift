/// Bounds guessing by address, kindly to carrier NAT.
///
/// - An address with few failures isn't limited here.
/// - One that has had its failed upgrades is refused, unless the request brings credentials. Those cost the address one check, whatever
///   comes of it, and when its budget is used up they aren't looked at. (Should they be wrong, the gate answers 429.)
struct RatePolicy: AdmissionPolicy {
    let limits: UpgradeLimits
    /// Without a client CA a presented certificate is no credential: nobody looks at it.
    let checksCertificates: Bool
    /// Nor is an `Authorization` header where no secret is demanded.
    let checksSecrets: Bool

    func evaluate(_ request: AdmissionRequest) -> PolicyOutcome {
        guard case .over(let seconds) = limits.failuresSoFar(request) else { return .noOpinion }
        guard
            request.ticket != nil || request.session != nil || request.assertion.arePresent
                || (checksCertificates && request.certificate != nil)
                || (checksSecrets && request.authorization != nil)
        else {
            return .refused(
                .rateLimited, "over FAILED_UPGRADES_PER_MINUTE, no credentials", retryAfter: seconds)
        }
        switch limits.payForVerification(request) {
        case .within: return .noOpinion
        case .over(let seconds):
            return .refused(.rateLimited, "over VERIFICATIONS_PER_SECOND", retryAfter: seconds)
        }
    }
}
