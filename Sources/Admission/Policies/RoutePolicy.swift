/// A route may be closed to some methods of admission (`admit=`). Most credentials say by which method their client would be admitted, and aren't
/// used up where the route is closed to it. Tickets don't: their method spends none that doesn't fit.
struct RoutePolicy: AdmissionPolicy {
    func evaluate(_ attempt: AdmissionAttempt) -> PolicyOutcome {
        guard let method = attempt.chosen?.claim.method, let refusal = Self.refusal(of: method, attempt.request) else {
            return .passed
        }
        return .refused(refusal)
    }

    static func refusal(of method: MethodName, _ request: AdmissionRequest) -> Refusal? {
        request.allows(method)
            ? nil : Refusal(.wayNotAllowed, detail: "the route is not open to \(method.route ?? method.label)")
    }
}
