/// With `REQUIRE_APP_AUTH=false` whoever brings no credentials comes in. Last of all policies: wrong ones have been refused before.
struct AnonymousPolicy: AdmissionPolicy {
    func evaluate(_ request: AdmissionRequest) -> PolicyOutcome {
        request.assertion.arePresent ? .noOpinion : .admitted(.anonymous)
    }
}
