/// The gate's answer to one upgrade request.
package enum AdmissionDecision: Sendable {
    case admitted(Admitted)
    case refused(Refusal)
    case later(LaterDecision<AdmissionDecision>)
}

/// A client that is sent the 101.
package struct Admitted: Sendable {
    package let principal: Principal
    /// One of `MAX_SESSIONS_GLOBAL`. Keep it for the lifetime of the session.
    package let globalLease: SessionLease
    /// `nil`: another gateway has passed the client on, which may only resume the session that it has named.
    package let permit: SessionPermit?
}

/// A client may begin a session: only the gate makes one, for a client that has connected to this gateway itself. No
/// target is dialled without it.
package struct SessionPermit: Sendable {
    init() {}
}

/// The gate's answer to a client that only authenticates, without a session.
package enum CredentialDecision: Sendable {
    case authenticated(Principal)
    case refused(Refusal)
    case later(LaterDecision<CredentialDecision>)
}

/// A decision that waits for an asynchronous verification.
package struct LaterDecision<Decision: Sendable>: Sendable {
    private let start: @Sendable (@escaping @Sendable (Decision) -> Void) -> Void

    init(start: @escaping @Sendable (@escaping @Sendable (Decision) -> Void) -> Void) { self.start = start }

    /// Begins the verification; call it once. The decision may be delivered on any thread, and isn't `later` again.
    package func whenDecided(_ body: @escaping @Sendable (Decision) -> Void) { start(body) }

    func map<Other: Sendable>(_ change: @escaping @Sendable (Decision) -> Other) -> LaterDecision<Other> {
        LaterDecision<Other> { [start] body in start { body(change($0)) } }
    }
}
