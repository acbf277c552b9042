/// With `REQUIRE_APP_AUTH=false` whoever brings no credentials comes in. Last of all policies: wrong ones have been refused before.
struct AnonymousPolicy: AdmissionPolicy {
    func evaluate(_ request: AdmissionRequest) -> PolicyOutcome {
        let isAllowed = request.allowedWays?.contains(.anonymous) ?? true
        return request.assertion.arePresent || request.ticket != nil || !isAllowed
            ? .noOpinion : .admitted(.anonymous)
    }
}
