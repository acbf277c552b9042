import AppAttest
import KeyStore
import WireText

/// The check of one assertion, step by step.
struct AssertionCheck: Sendable {
    let settings: AppAttestSettings
    let moment: Moment

    /// An assertion with a challenge that is spent now, whatever becomes of the assertion.
    struct Presented: Sendable {
        let data: String
        let challenge: SpentChallenge
        let id: KeyID
    }

    /// - Parameter registry: of a gateway that is alone.
    func verify(
        _ credential: AssertionCredential, in registry: any ImmediateKeyRegistry
    ) throws(KeyRegistryError) -> Verification {
        let presented: Presented
        do throws(RefusedRequest) { presented = try present(credential) } catch { return .refused(error.refusal) }
        let standing = try registry.standing(of: presented.id)
        let (verified, app): (VerifiedAssertion, AppID)
        do throws(RefusedRequest) {
            (verified, app) = try verify(presented, by: standing, above: standing?.counter)
        } catch {
            return .refused(error.refusal)
        }
        let advance = try registry.advanceCounter(
            of: presented.id, to: verified.counter, at: moment.unixMilliseconds)
        return conclude(advance, verified, by: presented.id, of: app)
    }

    /// Fields, challenge, and the form of the key's identifier.
    func present(_ credential: AssertionCredential) throws(RefusedRequest) -> Presented {
        let fields = credential.fields
        guard let nonce = fields.nonce, let keyID = fields.keyID, let data = fields.data,
            !nonce.isEmpty, !keyID.isEmpty, !data.isEmpty
        else {
            throw .refused(
                .appAuthRequired, "assertion headers are incomplete",
                FailedCheck(
                    .assertionFields, expected: AssertionFields.headers.joined(separator: ", "),
                    received: fields.present))
        }
        let challenge = try spend(nonce)
        guard let id = credential.key else {
            throw .refused(
                .unknownKey, "key identifier is malformed",
                FailedCheck(.keyRegistered, expected: "base64 of 32 bytes", received: "something else"))
        }
        return Presented(data: data, challenge: challenge, id: id)
    }

    private func spend(_ nonce: String) throws(RefusedRequest) -> SpentChallenge {
        let spending = settings.challenges.spend(nonce, at: moment.monotonic)
        guard case .spent(let challenge) = spending else { throw RefusedRequest(Self.refusal(of: spending)) }
        return challenge
    }

    /// - Parameter spending: not `.spent`.
    static func refusal(of spending: ChallengeSpending) -> Refusal {
        if case .full(let seconds) = spending {
            return Refusal(
                .challengesExhausted, detail: "spent challenges are at their maximum", retryAfter: seconds)
        }
        return Refusal(.invalidNonce, detail: spending.detail, failed: spending.failed)
    }

    /// Key, then signature.
    ///
    /// - Parameter counter: `nil`: the store alone compares counters.
    func verify(
        _ presented: Presented, by standing: KeyStanding?, above counter: UInt32?
    ) throws(RefusedRequest) -> (VerifiedAssertion, AppID) {
        guard let key = standing else {
            throw .refused(.unknownKey, "key is not registered", .unregistered(presented.id))
        }
        guard !key.isRevoked else { throw .refused(.keyRevoked, "key is revoked") }
        guard let app = settings.scope.app(of: key) else {
            throw .refused(
                .unknownKey, "key's app, environment or trust root is not configured", settings.scope.mismatch(of: key))
        }
        return (try verify(presented, by: key, of: app, above: counter ?? 0), app)
    }

    /// Signature, only for the app that the key was attested for.
    private func verify(
        _ presented: Presented, by key: KeyStanding, of app: AppID, above counter: UInt32
    ) throws(RefusedRequest) -> VerifiedAssertion {
        guard let assertion = Base64.decode(presented.data, maximumBytes: settings.maximumAssertionBytes) else {
            throw .refused(.assertionRejected, "assertion is not base64, or too long")
        }
        do throws(AssertionError) {
            return try settings.assertionVerifier.verify(
                assertion: assertion, clientDataHash: presented.challenge.clientDataHash,
                publicKeyX963: key.publicKeyX963, app: app, previousCounter: counter)
        } catch {
            let (verifier, others) = (settings.assertionVerifier, settings.scope.sortedApps)
            throw .refused(
                .assertionRejected, "assertion: \(error)",
                FailedCheck(error.check, verifier.discrepancy(error, in: assertion, app: app, others: others)))
        }
    }

    /// Counter. The registry compares again when it writes, so only one of two requests with the same counter succeeds.
    func conclude(
        _ advance: CounterAdvance, _ verified: VerifiedAssertion, by id: KeyID, of app: AppID
    ) -> Verification {
        switch advance {
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

extension RefusedRequest {
    fileprivate static func refused(
        _ answer: RefusalAnswer, _ detail: String, _ failed: FailedCheck? = nil
    ) -> RefusedRequest {
        RefusedRequest(Refusal(answer, detail: detail, failed: failed))
    }
}
