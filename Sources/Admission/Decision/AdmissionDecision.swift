/// The gate's answer to one upgrade request.
package enum AdmissionDecision: Sendable {
    case admitted(Admitted)
    case refused(Refusal)
    case later(LaterDecision<AdmissionDecision>)
}

/// A client that may have its 101.
package struct Admitted: Sendable {
    package let principal: Principal
    /// The one to name in the 101; `nil` if the client offered none.
    package let subprotocol: String?
    /// Keep it for as long as the session lives: it is one of `MAX_SESSIONS_GLOBAL`.
    package let slot: SessionSlot
}

/// The gate's answer where a client only shows who it is.
package enum CredentialDecision: Sendable {
    case authenticated(Principal)
    case refused(Refusal)
    case later(LaterDecision<CredentialDecision>)
}

/// A decision that depends on a verification whose answer comes later.
package struct LaterDecision<Decision: Sendable>: Sendable {
    private let start: @Sendable (@escaping @Sendable (Decision) -> Void) -> Void

    init(start: @escaping @Sendable (@escaping @Sendable (Decision) -> Void) -> Void) { self.start = start }

    /// Begins the verification: call it once. The decision may be handed over on any thread, and isn't `later` again.
    package func whenDecided(_ body: @escaping @Sendable (Decision) -> Void) { start(body) }

    func map<Other: Sendable>(_ change: @escaping @Sendable (Decision) -> Other) -> LaterDecision<Other> {
        LaterDecision<Other> { [start] body in start { body(change($0)) } }
    }
}
