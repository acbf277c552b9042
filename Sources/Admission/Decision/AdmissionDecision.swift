/// The gate's answer to one upgrade request.
package enum AdmissionDecision: Sendable {
    case admitted(Admitted)
    case refused(Refusal)
}

/// A client that may have its 101.
package struct Admitted: Sendable {
    package let principal: Principal
    /// The one to name in the 101; `nil` if the client offered none.
    package let subprotocol: String?
    /// Keep it for as long as the session lives: it is one of `MAX_SESSIONS_GLOBAL`.
    package let slot: SessionSlot
}

/// The gate's answer where somebody only shows who he is.
package enum CredentialDecision: Sendable {
    case authenticated(Principal)
    case refused(Refusal)
}
