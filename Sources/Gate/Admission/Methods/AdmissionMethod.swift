package import KeyStore

/// One way to be admitted: its credential, the identity that the credential claims, and how it is verified.
///
/// A method is independent of rates, capacity, lists, routes, tickets and logs: the gate applies these to all methods.
/// A new method is one folder with a conforming type, and one line in the composition root's list.
package protocol AdmissionMethod: Sendable {
    /// This method's credential in a request, parsed once and unverified.
    associatedtype Credential: Sendable

    /// What it keeps of a verified credential; ``NoProof`` if it keeps nothing.
    associatedtype Proof: AdmissionProof

    /// What the gate has to know of it besides its credential.
    var traits: MethodTraits { get }

    /// The credential that the request presents, valid or not; `nil` if it presents none. The first method in the
    /// gate's list that finds one is the request's method; no other one verifies it.
    ///
    /// A method that isn't configured either finds its credential and refuses it, or ignores it here.
    func credential(in request: AdmissionRequest) -> Credential?

    /// What the credential claims before it is verified. Lists, routes and capacity are checked with it first, so that
    /// no credential is used up for a request that they refuse.
    func claim(of credential: Credential) -> Claim

    /// Verifies the credential, and uses up what can be used once. Called at most once per request, after all checks
    /// that use up nothing.
    ///
    /// A refusal is an outcome. An error is thrown only if a store can't answer, never because of client input.
    func verify(
        _ credential: Credential, of request: AdmissionRequest
    ) throws(KeyRegistryError) -> Inquiry<Verification>

    /// Whether the credential claims an identity that was revoked: then the refusal. Asked before a client with a wrong
    /// credential is admitted all the same (``MethodTraits/exemption``).
    func revocation(of credential: Credential) -> Inquiry<Refusal?>

    /// Checks whether an identity that this method verified earlier would be admitted now, by its proof and the current
    /// settings, store and time: `nil` if the proof is still valid. Called before the identity is used again: for a
    /// spent ticket, a session's next ticket or a resume.
    func recheck(_ principal: Principal, at moment: Moment) -> Inquiry<Refusal?>
}

extension AdmissionMethod {
    package var fields: CredentialFieldNames { traits.fields }

    /// To read the proofs of an earlier process.
    var proofType: any AdmissionProof.Type { Proof.self }

    func presented(in request: AdmissionRequest) -> PresentedCredential? { presented(in: request, traits) }

    func presented(in request: AdmissionRequest, _ traits: MethodTraits) -> PresentedCredential? {
        guard let credential = credential(in: request) else { return nil }
        return PresentedCredential(
            traits: traits, claim: claim(of: credential),
            presentation: Presentation(method: self, credential: credential))
    }
}

/// What a credential claims before it is verified.
package struct Claim: Sendable {
    /// The claimed identity. `nil` if only verification reveals it.
    package var identity: Identity?
    /// The method of that identity, for the `admit=` of routes. `nil` as above; then the method itself checks the
    /// route.
    package var method: MethodName?
    /// The client resumes a session with this credential, and may use a lease of the reserve.
    package var isReturning = false
    /// It was issued to a client that presented the shared secret, and replaces it.
    package var standsForSecret = false

    package init(_ identity: Identity) {
        self.identity = identity
        method = identity.method
    }

    /// - Parameter method: for a credential that claims no identity.
    package init(method: MethodName?) { self.method = method }
}

/// The outcome of a verification.
package enum Verification: Sendable {
    /// The credential is valid.
    ///
    /// - Parameters:
    ///   - identity: under one of the method's ``MethodTraits/identityNames``. Its subject is stable, not empty and not
    ///     secret.
    ///   - proof: what the method needs to check it again.
    case verified(Identity, proof: any AdmissionProof)
    /// No credentials are needed.
    case anonymous
    /// The credential was issued to a client that was admitted earlier. The gate rechecks it with that client's method.
    case given(Principal)
    /// The same, from the store of a fleet: another gateway may have admitted the client.
    case held(HeldTicket)
    case refused(Refusal)

    package static func refused(
        _ answer: RefusalAnswer, _ detail: String, _ failed: FailedCheck? = nil, retryAfter: Int? = nil
    ) -> Verification {
        .refused(Refusal(answer, detail: detail, retryAfter: retryAfter, failed: failed))
    }
}

/// A credential with its method, type-erased.
struct PresentedCredential: Sendable {
    let traits: MethodTraits
    let claim: Claim
    fileprivate let presentation: any PresentedToMethod

    /// Uses up the credential; call it once.
    func verify(_ request: AdmissionRequest) throws(KeyRegistryError) -> Inquiry<Verification> {
        try presentation.verify(request)
    }

    func revocation() -> Inquiry<Refusal?> { presentation.revocation() }
}

private protocol PresentedToMethod: Sendable {
    func verify(_ request: AdmissionRequest) throws(KeyRegistryError) -> Inquiry<Verification>
    func revocation() -> Inquiry<Refusal?>
}

private struct Presentation<Method: AdmissionMethod>: PresentedToMethod {
    let method: Method
    let credential: Method.Credential

    func verify(_ request: AdmissionRequest) throws(KeyRegistryError) -> Inquiry<Verification> {
        try method.verify(credential, of: request)
    }

    func revocation() -> Inquiry<Refusal?> { method.revocation(of: credential) }
}
