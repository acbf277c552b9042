/// Stands in the place of ``AppAttestPolicy`` where App Attest isn't configured. Assertion headers are credentials that can't be
/// right here, and whoever brings wrong ones is refused rather than let in by another way.
struct NoAppAttestPolicy: AdmissionPolicy {
    func evaluate(_ request: AdmissionRequest) -> PolicyOutcome {
        request.assertion.arePresent ? .refused(.assertionRejected, "App Attest is not configured") : .noOpinion
    }
}
