package import AppAttest
package import KeyStore
import WireText

/// App Attest: a registered device signs a fresh challenge of the gateway. Checked in the order challenge, key, signature, counter.
///
/// One `X-App-Assert-*` header, even an empty one, chooses this method. The challenge is spent at its first use, whatever the result, so a
/// client can't try several assertions with one challenge.
package struct AppAttestMethod: AdmissionMethod {
    package static let name = MethodName(label: "app_attest", route: "app")

    package static let blockListKind = BlockListKind(
        word: "key", methods: name, AccessTokenMethod.name, problem: "holds no key identifier",
        remedy: "Write it as `portcullis keys list` shows it."
    ) { KeyID(text: $0)?.base64 }

    /// `nil`: App Attest isn't configured, and every assertion is refused.
    package let settings: AppAttestSettings?

    package init(_ settings: AppAttestSettings?) { self.settings = settings }

    package var name: MethodName { Self.name }
    package var proofType: (any AdmissionProof.Type)? { AppAttestProof.self }
    package var fields: CredentialFieldNames { CredentialFieldNames(headers: AssertionFields.headers) }

    package func credential(in request: AdmissionRequest) -> AssertionCredential? {
        let fields = AssertionFields(request.fields)
        return fields.arePresent ? AssertionCredential(fields) : nil
    }

    package func claim(of credential: AssertionCredential) -> Claim {
        credential.key.map { Claim(.key($0)) } ?? Claim(method: Self.name)
    }

    package func revocation(of credential: AssertionCredential) throws(KeyRegistryError) -> Refusal? {
        guard let id = credential.key, try settings?.registry.standing(of: id)?.isRevoked == true else { return nil }
        return Refusal(.keyRevoked, detail: "key is revoked, and the assertion wrong")
    }

    package func freshChallenge(at moment: Moment) -> String? { settings?.challenges.issue(at: moment).nonce }

    package func verify(
        _ credential: AssertionCredential, of request: AdmissionRequest
    ) throws(KeyRegistryError) -> Verification {
        guard let settings else {
            return .refused(.assertionRejected, "App Attest is not configured", FailedCheck(.assertionFields))
        }
        return try AssertionCheck(settings: settings, moment: request.moment).verify(credential)
    }

    /// The same checks as for a key that signs an assertion.
    package func recheck(_ principal: Principal, at moment: Moment) throws(KeyRegistryError) -> Refusal? {
        guard let settings, let proof = principal.proof as? AppAttestProof,
            let key = try settings.registry.standing(of: proof.key)
        else { return Refusal(.invalidTicket, detail: "the key is no longer registered") }
        guard !key.isRevoked else { return Refusal(.keyRevoked, detail: "the key is revoked") }
        guard settings.scope.app(of: key) == proof.app else {
            return Refusal(
                .invalidTicket, detail: "the key's app, environment or trust root is no longer configured")
        }
        return nil
    }
}

/// The key that signed an assertion, and the app that it was attested for.
package struct AppAttestProof: AdmissionProof {
    package let key: KeyID
    package let app: AppID

    /// - Parameter assertion: not read; its existence is the proof.
    init(_ assertion: VerifiedAssertion, by key: KeyID, app: AppID) {
        self.key = key
        self.app = app
    }

    package var isLarge: Bool { false }

    private enum CodingKeys: CodingKey {
        case key, app
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard let app = AppID(try container.decode(String.self, forKey: .app)) else { throw CarriedStateFault() }
        self.app = app
        key = try container.decode(KeyID.self, forKey: .key)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(key, forKey: .key)
        try container.encode(app.description, forKey: .app)
    }
}

extension Identity {
    package static func key(_ id: KeyID) -> Identity { Identity(method: AppAttestMethod.name, subject: id.base64) }
}

/// The check of one assertion, step by step.
private struct AssertionCheck {
    let settings: AppAttestSettings
    let moment: Moment

    func verify(_ credential: AssertionCredential) throws(KeyRegistryError) -> Verification {
        let fields = credential.fields
        guard let nonce = fields.nonce, let keyID = fields.keyID, let data = fields.data,
            !nonce.isEmpty, !keyID.isEmpty, !data.isEmpty
        else {
            return .refused(
                .appAuthRequired, "assertion headers are incomplete",
                FailedCheck(
                    .assertionFields, expected: AssertionFields.headers.joined(separator: ", "),
                    received: fields.present))
        }

        switch settings.challenges.spend(nonce, at: moment.monotonic) {
        case .spent(let challenge):
            return try verify(data, over: challenge, by: credential.key)
        case .full(let seconds):
            return .refused(.challengesExhausted, "spent challenges are at their maximum", retryAfter: seconds)
        case let failure:
            return .refused(.invalidNonce, failure.detail, failure.failed)
        }
    }

    /// Key.
    private func verify(
        _ data: String, over challenge: SpentChallenge, by id: KeyID?
    ) throws(KeyRegistryError) -> Verification {
        guard let id else {
            return .refused(
                .unknownKey, "key identifier is malformed",
                FailedCheck(.keyRegistered, expected: "base64 of 32 bytes", received: "something else"))
        }
        guard let key = try settings.registry.standing(of: id) else {
            return .refused(.unknownKey, "key is not registered", .unregistered(id))
        }
        guard !key.isRevoked else { return .refused(.keyRevoked, "key is revoked") }
        guard let app = settings.scope.app(of: key) else {
            return .refused(
                .unknownKey, "key's app, environment or trust root is not configured", settings.scope.mismatch(of: key))
        }
        return try verify(data, over: challenge, by: key, of: app)
    }

    /// Signature, only for the app that the key was attested for.
    private func verify(
        _ data: String, over challenge: SpentChallenge, by key: KeyStanding, of app: AppID
    ) throws(KeyRegistryError) -> Verification {
        guard let assertion = Base64.decode(data, maximumBytes: settings.maximumAssertionBytes) else {
            return .refused(.assertionRejected, "assertion is not base64, or too long")
        }
        let verified: VerifiedAssertion
        do throws(AssertionError) {
            verified = try settings.assertionVerifier.verify(
                assertion: assertion, clientDataHash: challenge.clientDataHash, publicKeyX963: key.publicKeyX963,
                app: app, previousCounter: key.counter)
        } catch {
            let (verifier, others) = (settings.assertionVerifier, settings.scope.sortedApps)
            return .refused(
                .assertionRejected, "assertion: \(error)",
                FailedCheck(error.check, verifier.discrepancy(error, in: assertion, app: app, others: others)))
        }
        return try commit(verified, by: key.id, of: app)
    }

    /// Counter. The registry compares again when it writes, so only one of two requests with the same counter succeeds.
    private func commit(
        _ verified: VerifiedAssertion, by id: KeyID, of app: AppID
    ) throws(KeyRegistryError) -> Verification {
        switch try settings.registry.advanceCounter(of: id, to: verified.counter, at: moment.unixMilliseconds) {
        case .advanced: .verified(.key(id), proof: AppAttestProof(verified, by: id, app: app))
        case .notHigher(let stored):
            .refused(
                .assertionRejected, "counter was used by another request meanwhile",
                .counterStored(verified.counter, stored: stored))
        case .unknownKey: .refused(.unknownKey, "key was forgotten meanwhile", FailedCheck(.counterStored))
        case .revoked: .refused(.keyRevoked, "key was revoked meanwhile", FailedCheck(.counterStored))
        }
    }
}
