/// A route may be restricted to some admission methods (`admit=`). Most credentials claim their method, and aren't used up if the route
/// doesn't allow it. Tickets don't; the ticket method itself doesn't spend a ticket that the route doesn't allow.
struct RoutePolicy: AdmissionPolicy {
    func evaluate(_ attempt: AdmissionAttempt) -> PolicyOutcome {
        guard let method = attempt.chosen?.claim.method, let refusal = Self.refusal(of: method, attempt.request) else {
            return .passed
        }
        return .refused(refusal)
    }

    static func refusal(of method: MethodName, _ request: AdmissionRequest) -> Refusal? {
        request.allows(method)
            ? nil : Refusal(.wayNotAllowed, detail: "the route doesn't allow \(method.route ?? method.label)")
    }
}
