import AppAttest
import KeyStore

/// The App Attest way: a registered device signs a fresh challenge of ours. Checked in the order challenge, key, signature, counter.
///
/// One `X-App-Assert-*` header, even an empty one, chooses this way, and from here there is none back. The challenge is spent at its
/// first use whatever comes after: nobody may try several assertions on one.
struct AppAttestPolicy: AdmissionPolicy {
    let settings: AppAttestSettings

    func evaluate(_ request: AdmissionRequest) throws(KeyRegistryError) -> PolicyOutcome {
        let fields = request.assertion
        guard fields.arePresent else { return .noOpinion }
        guard let nonce = fields.nonce, let keyID = fields.keyID, let data = fields.data,
            !nonce.isEmpty, !keyID.isEmpty, !data.isEmpty
        else { return .refused(.appAuthRequired, "assertion headers are incomplete") }

        switch settings.challenges.spend(nonce, at: request.moment.monotonic) {
        case .spent(let challenge):
            return try evaluate(data, over: challenge, by: keyID, at: request.moment)
        case .full(let seconds):
            return .refused(.challengesExhausted, "spent challenges are at their maximum", retryAfter: seconds)
        case let failure:
            return .refused(.invalidNonce, failure.detail)
        }
    }

    /// Key.
    private func evaluate(
        _ data: String, over challenge: SpentChallenge, by keyID: String, at moment: Moment
    ) throws(KeyRegistryError) -> PolicyOutcome {
        guard let id = KeyID(text: keyID) else { return .refused(.unknownKey, "key identifier is malformed") }
        guard let key = try settings.registry.standing(of: id) else {
            return .refused(.unknownKey, "key is not registered")
        }
        guard !key.isRevoked else { return .refused(.keyRevoked, "key is revoked") }
        guard let app = settings.scope.app(of: key) else {
            return .refused(.unknownKey, "key's app, environment or trust root is not configured")
        }
        return try evaluate(data, over: challenge, by: key, of: app, at: moment)
    }

    /// Signature, for the app that the key was attested for and no other.
    private func evaluate(
        _ data: String, over challenge: SpentChallenge, by key: KeyStanding, of app: AppID, at moment: Moment
    ) throws(KeyRegistryError) -> PolicyOutcome {
        guard let assertion = StrictBase64.decode(data, maximumBytes: settings.maximumAssertionBytes) else {
            return .refused(.assertionRejected, "assertion is not base64, or too long")
        }
        let verified: VerifiedAssertion
        do throws(AssertionError) {
            verified = try settings.assertionVerifier.verify(
                assertion: assertion, clientDataHash: challenge.clientDataHash, publicKeyX963: key.publicKeyX963,
                app: app, previousCounter: key.counter)
        } catch {
            return .refused(.assertionRejected, "assertion: \(error)")
        }
        return try commit(verified, by: key.id, of: app, at: moment)
    }

    /// Counter. The registry compares again as it writes: of two requests with one counter it lets one through.
    private func commit(
        _ verified: VerifiedAssertion, by id: KeyID, of app: AppID, at moment: Moment
    ) throws(KeyRegistryError) -> PolicyOutcome {
        switch try settings.registry.advanceCounter(of: id, to: verified.counter, at: moment.unixMilliseconds) {
        case .advanced: .admitted(Principal(verified, by: id, app: app))
        case .notHigher: .refused(.assertionRejected, "counter was used by another request meanwhile")
        case .unknownKey: .refused(.unknownKey, "key was forgotten meanwhile")
        case .revoked: .refused(.keyRevoked, "key was revoked meanwhile")
        }
    }
}
