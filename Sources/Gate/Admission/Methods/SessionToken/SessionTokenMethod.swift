/// For clients that can't send headers and resume a session that they began with a ticket. Tickets expire before
/// sessions do, so the session's token is enough for an upgrade that resumes the session.
///
/// The client of a session that began with another credential can present that credential again. For such a session the
/// token alone is no credential, and the methods after this one decide.
package struct SessionTokenMethod: AdmissionMethod {
    package typealias Bearer = @Sendable (SessionCredential, MonotonicTime) -> Principal?

    package static let name = MethodName(label: "session_token", route: nil, holders: .one)

    /// Finds the client of a session that may be resumed with the token alone.
    package let bearer: Bearer

    package init(bearer: @escaping Bearer) { self.bearer = bearer }

    /// It has no identities of its own, and passes the client on with that one's proof.
    package typealias Proof = NoProof

    package var traits: MethodTraits {
        MethodTraits(
            name: Self.name, identityNames: [Self.name], fields: CredentialFieldNames(), cost: 1,
            needsSharedSecret: true, challenge: nil, exemption: nil)
    }

    package func credential(in request: AdmissionRequest) -> Principal? {
        request.session.flatMap { request.bearer ?? bearer($0, request.moment.monotonic) }
    }

    package func claim(of principal: Principal) -> Claim {
        var claim = Claim(principal.identity)
        claim.isReturning = true
        claim.standsForSecret = true
        return claim
    }

    package func verify(_ principal: Principal, of request: AdmissionRequest) -> Inquiry<Verification> {
        .known(.given(principal))
    }

    /// The session's own client is rechecked.
    package func revocation(of principal: Principal) -> Inquiry<Refusal?> { .known(nil) }

    /// No identity has this method.
    package func recheck(_ principal: Principal, at moment: Moment) -> Inquiry<Refusal?> {
        .known(Refusal(.invalidTicket, detail: "a session's token isn't an identity"))
    }
}
