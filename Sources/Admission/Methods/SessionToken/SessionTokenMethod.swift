/// For clients that can't send headers, and come back to a session that they began with a ticket. Tickets don't live as long as sessions do, so
/// the session's token is enough for an upgrade that resumes this session.
///
/// A session that began with another credential has a client that can show it again. For such a session the token alone is no credential, and
/// the methods behind this one decide.
package struct SessionTokenMethod: AdmissionMethod {
    package typealias Bearer = @Sendable (SessionCredential, MonotonicTime) -> Principal?

    package static let name = MethodName(label: "session_token", route: nil)

    /// The client of a session that may come back with the token alone.
    package let bearer: Bearer

    package init(bearer: @escaping Bearer) { self.bearer = bearer }

    package var name: MethodName { Self.name }

    package func credential(in request: AdmissionRequest) -> Principal? {
        request.session.flatMap { bearer($0, request.moment.monotonic) }
    }

    package func claim(of principal: Principal) -> Claim {
        var claim = Claim(principal.identity)
        claim.isReturning = true
        claim.standsForSecret = true
        return claim
    }

    package func verify(_ principal: Principal, of request: AdmissionRequest) -> Verification { .given(principal) }

    /// No identity is this method's.
    package func recheck(_ principal: Principal, at moment: Moment) -> Refusal? {
        Refusal(.invalidTicket, detail: "a session's token is no identity")
    }
}
