package import AppAttest
package import KeyStore

/// App Attest for single requests: a registered device signs each one, with a challenge of the gateway. For upgrades,
/// which have no body, for requests of the gateway's own endpoints, whose body is signed too, and for those of HTTP
/// services behind a proxy (``SignedAuthorization``).
///
/// One `X-AppAttest-*` header field, even an empty one, chooses this method.
package struct SignedRequestMethod: AdmissionMethod {
    package static let name = MethodName(label: "signed_request", route: "signed", holders: .one)

    /// `nil`: `SIGNED_REQUESTS` is off, and these header fields are ignored.
    package let settings: SignedRequestSettings?

    package init(_ settings: SignedRequestSettings?) { self.settings = settings }

    /// The key that signed, and the app that it was attested for.
    package typealias Proof = AppAttestProof

    package var traits: MethodTraits {
        MethodTraits(
            name: Self.name, identityNames: [Self.name],
            fields: CredentialFieldNames(
                headers: settings == nil ? [] : (SignedField.choosing + [.bodyDigest]).map(\.name)), cost: 1,
            needsSharedSecret: true, challenge: challenge, exemption: nil)
    }

    private var challenge: MethodTraits.Challenge? {
        guard let challenges = settings?.appAttest.challenges else { return nil }
        return { FreshChallenge(challenges.issueForSigned(at: $0).nonce, in: SignedField.nextChallenge) }
    }

    package func credential(in request: AdmissionRequest) -> SignedCredential? {
        guard settings != nil else { return nil }
        // The gate refuses repeated ones.
        let fields = SignedFields { request.fields.header($0).map { [$0] } ?? [] }
        return fields.arePresent ? SignedCredential(fields) : nil
    }

    package func claim(of credential: SignedCredential) -> Claim {
        credential.key.map { Claim(.signed($0)) } ?? Claim(method: Self.name)
    }

    package func revocation(of credential: SignedCredential) -> Inquiry<Refusal?> {
        guard let settings, let id = credential.key else { return .known(nil) }
        return .steps(
            StandingSteps(id, settings.appAttest.store) { key, _ in
                key?.isRevoked == true
                    ? .signed(.keyRevoked, detail: "key is revoked, and the assertion wrong") : nil
            })
    }

    package func verify(_ credential: SignedCredential, of request: AdmissionRequest) -> Inquiry<Verification> {
        guard let settings else {
            return .known(.refused(.signedAssertionRejected, "signed requests are off", FailedCheck(.signedFields)))
        }
        let url = settings.origins.url(host: request.host, path: request.path)
        let resource = SignedResource(
            method: request.handshake.method, url: url.text, body: credential.body(request.body))
        do throws(RefusedRequest) {
            let steps = try SignedRequestSteps(credential.fields, resource, settings, admitsLower: false)
            return .steps(SignedUpgradeSteps(steps: steps))
        } catch {
            return .known(.refused(error.refusal))
        }
    }

    /// The same checks as for a key that signs an upgrade.
    package func recheck(_ principal: Principal, at moment: Moment) -> Inquiry<Refusal?> {
        AppAttestMethod(settings?.appAttest).recheck(principal, at: moment)
    }
}

private struct SignedUpgradeSteps: DecisionSteps {
    var steps: SignedRequestSteps

    mutating func next(_ answer: StoreAnswer?, at moment: Moment) -> Step<Verification> {
        switch steps.next(answer, at: moment) {
        case .ask(let question, let store): .ask(question, of: store)
        case .decided(.success(let verified)): .decided(.verified(verified.identity, proof: verified.proof))
        case .decided(.failure(let refused)): .decided(.refused(refused.refusal))
        }
    }
}

/// `SIGNED_REQUESTS=on`.
package struct SignedRequestSettings: Sendable {
    /// Above the highest counter by more than this, another device may have the key: one makes as many in half a day at
    /// most.
    static let maximumRise = 1_000_000

    package var appAttest: AppAttestSettings
    /// Of the URLs that clients sign.
    package var origins: OwnOrigins

    package init(appAttest: AppAttestSettings, origins: OwnOrigins) {
        self.appAttest = appAttest
        self.origins = origins
    }
}

/// A signature as presented to the gate.
package struct SignedCredential: Sendable {
    let fields: SignedFields
    /// `nil` if the identifier is missing or malformed.
    let key: KeyID?

    init(_ fields: SignedFields) {
        self.fields = fields
        key = fields.claimedKey
    }

    /// - Parameter bytes: the whole body.
    fileprivate func body(_ bytes: [UInt8]) -> SignedResource.Body {
        guard !bytes.isEmpty else { return .absent }
        // Without usable client data, these are refused.
        var hash = BodyHash(behind: fields.clientData ?? [])
        hash.update(bytes)
        return .hashed(hash.finished())
    }
}

extension SignedFields {
    /// `nil` if the identifier is missing, repeated or malformed.
    package var claimedKey: KeyID? { (try? single(.keyID)).flatMap { $0 }.flatMap { KeyID(text: $0) } }
}

/// A request that the key of a registered device has signed. Only its verification makes one.
package struct VerifiedSignedRequest: Sendable {
    package let identity: Identity
    package let app: AppID
    /// What is known of the body. The gateway has compared it, unless a proxy has the body.
    package let digest: ContentDigest
    let proof: AppAttestProof

    init(_ signed: AssertionCheck.Signed, by key: KeyID, _ digest: ContentDigest) {
        identity = .signed(key)
        app = signed.app
        self.digest = digest
        proof = AppAttestProof(signed.assertion, by: key, app: signed.app, account: signed.account)
    }
}

extension SignedAuthorization {
    /// Its name in what a location admits.
    static var route: String { SignedRequestMethod.name.route ?? "" }
}

extension Identity {
    package static func signed(_ id: KeyID) -> Identity {
        Identity(method: SignedRequestMethod.name, subject: id.base64)
    }
}
