/// Bounds guessing by address, kindly to carrier NAT.
///
/// - Credentials cost their address one check, whatever comes of it. When the budget is used up they aren't looked at.
/// - Without credentials, an address that has had its failed upgrades is refused. (With credentials it goes on; should they be wrong,
///   the gate answers 429.)
struct RatePolicy: AdmissionPolicy {
    let limits: UpgradeLimits
    /// Without a client CA a presented certificate is no credential: nobody looks at it.
    let checksCertificates: Bool

    func evaluate(_ request: AdmissionRequest) -> PolicyOutcome {
        if request.assertion.arePresent || (checksCertificates && request.certificate != nil) {
            outcome(limits.payForVerification(request), "over VERIFICATIONS_PER_SECOND")
        } else {
            outcome(limits.failuresSoFar(request), "over FAILED_UPGRADES_PER_MINUTE, no credentials")
        }
    }

    private func outcome(_ decision: RateDecision, _ detail: String) -> PolicyOutcome {
        switch decision {
        case .within: .noOpinion
        case .over(let seconds): .refused(.rateLimited, detail, retryAfter: seconds)
        }
    }
}
