package import KeyStore

/// One way to be admitted: which credential it takes, whom that names, and how it is verified.
///
/// A method knows nothing of rates, capacity, lists, routes, tickets or logs: the gate applies these to every method alike. Adding a method
/// means one folder with a type that conforms to this protocol, and one line in the composition root's list.
package protocol AdmissionMethod: Sendable {
    /// What a request shows of this method, parsed once. Nothing of it is verified.
    associatedtype Credential: Sendable

    /// Of the credential: what the log, the audit log and metrics call a try of a client.
    var name: MethodName { get }
    /// Of the identities that the method verifies. Most methods have one name for both.
    var identityNames: [MethodName] { get }
    /// Header fields and query parameters that the method reads. A request that repeats one of these header fields is refused.
    var fields: CredentialFieldNames { get }
    /// How much of `VERIFICATIONS_PER_SECOND` one verification takes. 0 is for the method that verifies nothing.
    var cost: Int { get }
    /// Whether its clients have to show a shared secret where one is demanded.
    var needsSharedSecret: Bool { get }

    /// The credential that the request shows, right or wrong; `nil` where it shows none. The first method of the gate's list that finds one is
    /// the request's method: it is verified by that one and by no other.
    ///
    /// A method that isn't configured either finds its credential and refuses it, or ignores it here.
    func credential(in request: AdmissionRequest) -> Credential?

    /// What the credential says before it is verified. Lists, routes and the capacity are asked by it first, so that nothing is used up in
    /// vain.
    func claim(of credential: Credential) -> Claim

    /// Verifies the credential, and uses up what can be used once. Asked at most once for a request, after everything that may refuse it
    /// for nothing.
    ///
    /// A refusal is an outcome. It throws only where a store can't answer, never because of what a client sent.
    func verify(
        _ credential: Credential, of request: AdmissionRequest
    ) throws(KeyRegistryError) -> Verification

    /// Whether an identity that this method has verified earlier would be admitted now, by its proof, the settings, the store and the time.
    /// Asked before anything new follows from it: a spent ticket, the next ticket of a session, a resume.
    ///
    /// - Returns: `nil` where the proof still holds.
    func recheck(_ principal: Principal, at moment: Moment) throws(KeyRegistryError) -> Refusal?

    /// What a client that was refused with 401 may use for its next try, without another round trip.
    func freshChallenge(at moment: Moment) -> String?
}

extension AdmissionMethod {
    package var identityNames: [MethodName] { [name] }
    package var fields: CredentialFieldNames { CredentialFieldNames() }
    package var cost: Int { 1 }
    package var needsSharedSecret: Bool { true }
    package func freshChallenge(at moment: Moment) -> String? { nil }

    func presented(in request: AdmissionRequest) -> PresentedCredential? {
        guard let credential = credential(in: request) else { return nil }
        return PresentedCredential(method: self, claim: claim(of: credential)) {
            request throws(KeyRegistryError) in try verify(credential, of: request)
        }
    }
}

/// What a credential says before it is verified.
package struct Claim: Sendable {
    /// Who the client would be. `nil` where that only shows when the credential is verified.
    package var identity: Identity?
    /// By which method it would be admitted, as routes tell methods apart. `nil` as above: then the method itself looks at what the route
    /// allows.
    package var method: MethodName?
    /// It belongs to a session that the client comes back to, which may take a place of the reserve.
    package var isReturning = false
    /// It was given to a client that had shown the shared secret, and stands for it.
    package var standsForSecret = false

    package init(_ identity: Identity) {
        self.identity = identity
        method = identity.method
    }

    /// - Parameter method: where the credential doesn't say who the client would be.
    package init(method: MethodName?) { self.method = method }
}

/// What became of a verification.
package enum Verification: Sendable {
    /// The credential is the method's, and right.
    ///
    /// - Parameters:
    ///   - identity: under one of the method's ``AdmissionMethod/identityNames``. Its subject is stable, not empty and not secret.
    ///   - proof: what the method needs to check it again.
    case verified(Identity, proof: any AdmissionProof)
    /// No credentials are needed.
    case anonymous
    /// The credential was given to a client that had been admitted before. The gate asks the method of that client once more.
    case given(Principal)
    case refused(Refusal)
    /// The answer comes later. The gate calls the function once; the answer may come on any thread, once, and not as `.later` again.
    case later(@Sendable (@escaping @Sendable (Result<Verification, KeyRegistryError>) -> Void) -> Void)

    package static func refused(_ answer: RefusalAnswer, _ detail: String, retryAfter: Int? = nil) -> Verification {
        .refused(Refusal(answer, detail: detail, retryAfter: retryAfter))
    }
}

/// What a method keeps of a credential that it has verified, to check it again. It lives as long as the session and its tickets.
package protocol AdmissionProof: Sendable {
    /// Whether it takes kilobytes: tickets keep one for all of a client, and only so many (``TicketOffice/maximumLargeProofs``).
    var isLarge: Bool { get }
}

/// A credential with its method, whichever that is.
struct PresentedCredential: Sendable {
    let method: any AdmissionMethod
    let claim: Claim
    /// Uses it up: call it once.
    let verify: @Sendable (AdmissionRequest) throws(KeyRegistryError) -> Verification

    init(
        method: any AdmissionMethod, claim: Claim,
        verify: @escaping @Sendable (AdmissionRequest) throws(KeyRegistryError) -> Verification
    ) {
        self.method = method
        self.claim = claim
        self.verify = verify
    }
}
