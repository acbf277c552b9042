/// A request with the credentials that it presents: the input of the policies. Each credential is parsed once.
struct AdmissionAttempt: Sendable {
    let request: AdmissionRequest
    /// In the order of the gate's methods.
    let presented: [PresentedCredential]

    init(_ request: AdmissionRequest, by methods: [GateMethod]) {
        self.request = request
        presented = methods.compactMap { $0.method.presented(in: request, $0.traits) }
    }

    /// The one that decides. If it is wrong, no other one is tried.
    var chosen: PresentedCredential? { presented.first }

    /// The method that the client tried, for the log. A session's token that matches no session counts as an attempt
    /// too.
    var method: MethodName {
        if let chosen, chosen.traits.cost > 0 { return chosen.traits.name }
        return request.session == nil ? .none : SessionTokenMethod.name
    }
}
