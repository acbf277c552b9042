/// A request with the credentials that it shows: what the policies judge. Each credential is parsed once.
struct AdmissionAttempt: Sendable {
    let request: AdmissionRequest
    /// In the order of the gate's methods.
    let presented: [PresentedCredential]

    init(_ request: AdmissionRequest, by methods: [any AdmissionMethod]) {
        self.request = request
        presented = methods.compactMap { $0.presented(in: request) }
    }

    /// The one that decides. There is no way back to another one when it is wrong.
    var chosen: PresentedCredential? { presented.first }

    /// For the log: by which method the client tried. A session's token that fits no session is a try as well.
    var method: MethodName {
        if let chosen, chosen.method.cost > 0 { return chosen.method.name }
        return request.session == nil ? .none : SessionTokenMethod.name
    }
}
