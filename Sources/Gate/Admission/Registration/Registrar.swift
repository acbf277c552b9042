package import AppAttest
import DPoP
package import KeyStore
import StrictJSON

/// Registers devices: `POST /attest/register` without the HTTP.
///
/// The order is rate, body, challenge (which is used up), attestation, store. In the token dialect it is rate, body,
/// proof, challenge and attestation, which use nothing up, then what is used up: proof and challenge; then the store.
/// Not for reactors: verifying takes milliseconds, and storing waits for the disk.
package struct Registrar: Sendable {
    /// `MAX_BODY_BYTES`.
    package static let defaultMaximumBodyBytes = 65_536
    private static let storeRetryAfter = 5

    // Its other dialects use these, too.
    let settings: AppAttestSettings
    let registry: any KeyRegistry
    let verifier: AttestationVerifier
    let limits: EndpointLimits
    let maximumBodyBytes: Int
    private let tokens: TokenSettings?

    /// - Parameters:
    ///   - registry: the asynchronous part of the store in `settings`.
    ///   - tokens: nil: there is no token dialect.
    package init(
        settings: AppAttestSettings, registry: any KeyRegistry, verifier: AttestationVerifier,
        limits: EndpointLimits, maximumBodyBytes: Int = defaultMaximumBodyBytes, tokens: TokenSettings? = nil
    ) {
        self.tokens = tokens
        self.settings = settings
        self.registry = registry
        self.verifier = verifier
        self.limits = limits
        self.maximumBodyBytes = maximumBodyBytes
    }

    /// - Parameter refuse: called right before the key is stored, and records that. If it returns a refusal, that is
    ///   the answer and nothing is stored.
    package func register(
        _ request: TokenRequest, unless refuse: @Sendable (RegisteredKey) -> Refusal? = { _ in nil }
    ) async -> RegistrationOutcome {
        if let refusal = limits.refuseRegistration(from: request.address, at: request.moment.monotonic) {
            return .refused(Self.phrased(refusal, forProofs: request.proofs))
        }
        let body: JSONObject
        do throws(UnreadableRegistration) { body = try read(request.body) } catch {
            return .refused(Self.phrased(error.refusal, forProofs: request.proofs))
        }
        switch RegistrationDialect(of: body) {
        case .guide: return await registerByGuide(body, at: request.moment, unless: refuse)
        case .token: return await registerWithProof(request, body, unless: refuse)
        case .both:
            let detail = "keyId and device_key_jwk exclude each other"
            return .refused(Refusal(.malformedRequest, detail: detail, reason: detail))
        }
    }

    /// A refusal of a request whose body isn't read, in the words of its dialect.
    ///
    /// - Parameter proofs: the values of all `DPoP` fields.
    package static func phrased(_ refusal: Refusal, forProofs proofs: [String]) -> Refusal {
        RegistrationDialect(ofProofs: proofs) == .token ? refusal.ofRegistrationInTokenDialect : refusal
    }

    private func read(_ body: [UInt8]) throws(UnreadableRegistration) -> JSONObject {
        guard body.count <= maximumBodyBytes else { throw .tooLarge }
        do { return try JSONReader.readObject(body, maximumBytes: maximumBodyBytes) } catch {
            throw .malformed("body is not a JSON object: \(error)")
        }
    }

    private func registerByGuide(
        _ body: JSONObject, at moment: Moment, unless refuse: @Sendable (RegisteredKey) -> Refusal?
    ) async -> RegistrationOutcome {
        switch RegistrationRequest.read(body, maximumBytes: maximumBodyBytes) {
        case .failure(let unreadable): return .refused(unreadable.refusal)
        case .success(let request): return await register(request, at: moment, unless: refuse)
        }
    }

    private func register(
        _ request: RegistrationRequest, at moment: Moment, unless refuse: @Sendable (RegisteredKey) -> Refusal?
    ) async -> RegistrationOutcome {
        let spending: ChallengeSpending
        do throws(KeyRegistryError) {
            spending = try await settings.confirm(
                settings.challenges.spend(request.nonce, at: moment.monotonic), at: moment.monotonic)
        } catch {
            return .refused(Self.unavailable(error))
        }
        switch spending {
        case .spent(let challenge):
            return await register(request, over: challenge, at: moment, unless: refuse)
        case .full(let seconds):
            let detail = "spent challenges are at their maximum"
            return .refused(Refusal(.challengesExhausted, detail: detail, retryAfter: seconds))
        case let failure:
            return .refused(
                Refusal(
                    .invalidRegistrationNonce, detail: failure.detail, reason: failure.reason, failed: failure.failed))
        }
    }

    private func register(
        _ request: RegistrationRequest, over challenge: SpentChallenge, at moment: Moment,
        unless refuse: @Sendable (RegisteredKey) -> Refusal?
    ) async -> RegistrationOutcome {
        do throws(AttestationError) {
            let verified = try await verify(
                request.attestation, of: request.keyID, over: challenge.clientDataHash, at: moment)
            return await enrol(verified, as: request.keyID, at: moment, unless: refuse)
        } catch {
            let answer: RefusalAnswer = error == .rpIDHashMismatch ? .attestedAppMismatch : .attestationRejected
            let verifier = verifier
            let failed = FailedCheck(
                error.check,
                verifier.discrepancy(error, in: request.attestation, keyID: request.keyID.bytes, at: moment.date))
            let reason = reason(error, in: request.attestation)
            return .refused(Refusal(answer, detail: "attestation: \(error)", reason: reason, failed: failed))
        }
    }

    /// For the client.
    ///
    /// - Parameter claimed: the app that the request names, if it names one.
    private func reason(_ error: AttestationError, in attestation: [UInt8], claimed: AppID? = nil) -> String {
        guard error == .rpIDHashMismatch else { return error.clientDescription }
        return verifier.mismatchingPart(of: attestation, claimed: claimed).reason("the attestation is")
    }

    func verify(
        _ attestation: [UInt8], of id: KeyID, over clientDataHash: [UInt8], at moment: Moment
    ) async throws(AttestationError) -> VerifiedAttestation {
        try await verifier.verify(
            attestation: attestation, keyID: id.bytes, clientDataHash: clientDataHash, at: moment.date)
    }

    /// A key that is revoked after it was looked up is refused by the store.
    ///
    /// - Parameter id: the verifier has confirmed that it is the attested key's.
    func enrol(
        _ verified: VerifiedAttestation, as id: KeyID, at moment: Moment,
        unless refuse: @Sendable (RegisteredKey) -> Refusal?
    ) async -> RegistrationOutcome {
        let key = DeviceKey(
            id: id, publicKeyX963: verified.publicKeyX963, app: verified.app.description,
            environment: verified.environment.rawValue, trustRoot: verified.trustRootFingerprint, counter: 0,
            receipt: verified.receipt, validationCategory: verified.validationCategory,
            bundleVersion: verified.bundleVersion, registeredAt: moment.unixMilliseconds, lastUsedAt: nil,
            revokedAt: nil, revocationReason: nil)
        let known: KeyStanding?
        do throws(KeyRegistryError) {
            known = try await registry.standing(of: id)
        } catch {
            return .refused(Self.unavailable(error))
        }
        guard known?.isRevoked != true else { return .refused(Self.revoked) }
        if let refusal = refuse(registered(verified, id, wasKnown: known != nil)) { return .refused(refusal) }
        do throws(KeyRegistryError) {
            switch try await registry.enrol(key) {
            case .enrolled: return .registered(registered(verified, id, wasKnown: false))
            case .alreadyEnrolled: return .registered(registered(verified, id, wasKnown: true))
            case .revoked: return .unstored(Self.revoked)
            }
        } catch {
            return .unstored(Self.unavailable(error))
        }
    }

    private static let revoked = Refusal(.keyRevoked, detail: "key is revoked")

    static func unavailable(_ error: KeyRegistryError) -> Refusal {
        Refusal(
            .attestationUnavailable, detail: "\(error)", retryAfter: storeRetryAfter, failed: FailedCheck(.keyStored))
    }

    private func registered(_ verified: VerifiedAttestation, _ id: KeyID, wasKnown: Bool) -> RegisteredKey {
        RegisteredKey(id: id, app: verified.app, environment: verified.environment, wasKnown: wasKnown)
    }
}

// MARK: The token dialect

extension Registrar {
    private func registerWithProof(
        _ request: TokenRequest, _ body: JSONObject, unless refuse: @Sendable (RegisteredKey) -> Refusal?
    ) async -> RegistrationOutcome {
        do throws(RefusedRequest) {
            let (id, verified) = try await verifyWithProof(request, TokenDialectBody(body))
            let outcome = await enrol(verified, as: id, at: request.moment) { key in
                refuse(key)?.forTokenClient()
            }
            return outcome.inTokenDialect
        } catch {
            return .refused(error.refusal)
        }
    }

    /// The proof is spent for an attested key alone, and the challenge after it. What bounds the attestations that a
    /// stranger has verified is the rate of its address.
    private func verifyWithProof(
        _ request: TokenRequest, _ body: TokenDialectBody
    ) async throws(RefusedRequest) -> (id: KeyID, attestation: VerifiedAttestation) {
        guard let tokens else {
            throw RefusedRequest(
                .token(
                    .attestationFailed, detail: "access tokens are not configured",
                    reason: "access tokens are not configured at this gateway", failed: FailedCheck(.body)))
        }
        guard tokens.origins.areKnown else { throw RefusedRequest(.publicOriginRequired) }
        let (id, app, nonce) = (try body.keyID(), try body.app(), try body.nonce())
        let attestation = try body.attestationObject(maximumBytes: maximumBodyBytes)
        let proof = try tokens.checkProof(of: request, body, .ignored)
        let open = try settings.challenges.examine(nonce, for: .registration, at: request.moment.monotonic)
            .openInTokenDialect()
        try tokens.refuseUsed(proof, at: .registration, in: request.moment, freshBy: .challenge)
        let verified = try await verify(
            attestation, of: id, for: app, over: open.clientDataHash(binding: body.key), at: request.moment)
        _ = try await tokens.spend(proof, at: .registration, in: request.moment, freshBy: .challenge)
        _ = try await spend(nonce, at: request.moment)
        return (id, verified)
    }

    /// The attestation must be for the app that the request names.
    private func verify(
        _ attestation: [UInt8], of id: KeyID, for app: AppID, over clientDataHash: [UInt8], at moment: Moment
    ) async throws(RefusedRequest) -> VerifiedAttestation {
        let verified: VerifiedAttestation
        do throws(AttestationError) {
            verified = try await verify(attestation, of: id, over: clientDataHash, at: moment)
        } catch {
            let (verifier, time) = (verifier, moment.date)
            let failed = FailedCheck(
                error.check,
                verifier.discrepancy(error, in: attestation, keyID: id.bytes, claimed: app, at: time))
            let reason = reason(error, in: attestation, claimed: app)
            throw RefusedRequest(
                .token(.attestationFailed, detail: "attestation: \(error)", reason: reason, failed: failed))
        }
        guard verified.app == app else {
            throw RefusedRequest(
                .token(
                    .attestationFailed, detail: "attestation is for another app",
                    reason: verified.app.reason(named: app),
                    failed: FailedCheck(
                        .claimedApp, expected: "an attestation for \(app), as the request says",
                        received: "one for \(verified.app)")))
        }
        return verified
    }

    private func spend(_ nonce: String, at moment: Moment) async throws(RefusedRequest) -> SpentChallenge {
        let own = settings.challenges.spend(nonce, for: .registration, at: moment.monotonic)
        let spending: ChallengeSpending
        do throws(KeyRegistryError) { spending = try await settings.confirm(own, at: moment.monotonic) } catch {
            throw RefusedRequest(Self.unavailable(error).ofRegistrationInTokenDialect)
        }
        return try spending.spentInTokenDialect()
    }
}

extension RegistrationOutcome {
    /// The same outcome in the words of the token dialect.
    fileprivate var inTokenDialect: RegistrationOutcome {
        switch self {
        case .registered(var key):
            key.isInTokenDialect = true
            return .registered(key)
        case .refused(let refusal): return .refused(refusal.ofRegistrationInTokenDialect)
        case .unstored(let refusal): return .unstored(refusal.ofRegistrationInTokenDialect)
        }
    }
}

extension Refusal {
    fileprivate var ofRegistrationInTokenDialect: Refusal {
        switch code {
        case .keyRevoked: .token(.deviceBlocked, detail: detail, failed: failed)
        case .attestationUnavailable:
            .token(.tokensUnavailable, detail: detail, retryAfter: retryAfter, failed: failed)
        default: forTokenClient()
        }
    }
}
