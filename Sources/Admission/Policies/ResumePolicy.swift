import KeyStore

/// The way of clients that can't send headers, and come back to a session that they began with a ticket. Tickets don't live as long as
/// sessions do, so the session's token is enough for an upgrade that resumes this session.
///
/// A session that began with an assertion or a certificate has a client that can show them again: for that one the token alone is no
/// credential, and the policies behind this one decide. What the session's ticket stood for is checked again: see ``ProofCheck``.
struct ResumePolicy: AdmissionPolicy {
    let bearer: @Sendable (SessionCredential, MonotonicTime) -> Principal?
    let proof: ProofCheck

    func evaluate(_ request: AdmissionRequest) throws(KeyRegistryError) -> PolicyOutcome {
        guard let session = request.bareSession, let principal = bearer(session, request.moment.monotonic) else {
            return .noOpinion
        }
        guard request.allowedWays?.contains(principal.admissionWay) ?? true else {
            return .refused(.wayNotAllowed, "the route is not open to the session's client")
        }
        if let refusal = try proof.refusal(of: principal, at: request.moment) { return .refused(refusal) }
        return .admitted(principal)
    }
}
