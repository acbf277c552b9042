package import AppAttest
import FoundationEssentials
package import KeyStore
package import WireText

/// Registers devices: `POST /attest/register` without the HTTP.
///
/// The order is rate, body, challenge, attestation, store. Not for reactors: verifying takes milliseconds, and storing waits for the disk.
package struct Registrar: Sendable {
    /// `MAX_BODY_BYTES`.
    package static let defaultMaximumBodyBytes = 65_536
    private static let storeRetryAfter = 5

    private let settings: AppAttestSettings
    private let registry: any KeyRegistry
    private let verifier: AttestationVerifier
    private let limits: EndpointLimits
    private let maximumBodyBytes: Int

    /// - Parameter registry: the asynchronous part of the store in `settings`.
    package init(
        settings: AppAttestSettings, registry: any KeyRegistry, verifier: AttestationVerifier,
        limits: EndpointLimits, maximumBodyBytes: Int = defaultMaximumBodyBytes
    ) {
        self.settings = settings
        self.registry = registry
        self.verifier = verifier
        self.limits = limits
        self.maximumBodyBytes = maximumBodyBytes
    }

    /// - Parameter refuse: called right before the key is stored, and records that. If it returns a refusal, that is the answer and nothing
    ///   is stored.
    package func register(
        body: [UInt8], from address: IPAddress, at moment: Moment,
        unless refuse: @Sendable (RegisteredKey) -> Refusal? = { _ in nil }
    ) async -> RegistrationOutcome {
        if let refusal = limits.refuseRegistration(from: address, at: moment.monotonic) { return .refused(refusal) }
        switch RegistrationRequest.read(body, maximumBytes: maximumBodyBytes) {
        case .failure(let unreadable): return .refused(unreadable.refusal)
        case .success(let request): return await register(request, at: moment, unless: refuse)
        }
    }

    private func register(
        _ request: RegistrationRequest, at moment: Moment, unless refuse: @Sendable (RegisteredKey) -> Refusal?
    ) async -> RegistrationOutcome {
        switch settings.challenges.spend(request.nonce, at: moment.monotonic) {
        case .spent(let challenge):
            return await register(request, over: challenge, at: moment, unless: refuse)
        case .full(let seconds):
            let detail = "spent challenges are at their maximum"
            return .refused(Refusal(.challengesExhausted, detail: detail, retryAfter: seconds))
        case let failure:
            return .refused(Refusal(.invalidRegistrationNonce, detail: failure.detail))
        }
    }

    private func register(
        _ request: RegistrationRequest, over challenge: SpentChallenge, at moment: Moment,
        unless refuse: @Sendable (RegisteredKey) -> Refusal?
    ) async -> RegistrationOutcome {
        do throws(AttestationError) {
            let verified = try await verifier.verify(
                attestation: request.attestation, keyID: request.keyID.bytes,
                clientDataHash: challenge.clientDataHash,
                at: Date(timeIntervalSince1970: Double(moment.unixMilliseconds) / 1_000))
            return await enrol(verified, as: request.keyID, at: moment, unless: refuse)
        } catch {
            let answer: RefusalAnswer = error == .rpIDHashMismatch ? .attestedAppMismatch : .attestationRejected
            return .refused(Refusal(answer, detail: "attestation: \(error)"))
        }
    }

    /// A key that is revoked after it was looked up is refused by the store.
    ///
    /// - Parameter id: the verifier has confirmed that it is the attested key's.
    private func enrol(
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

    private static func unavailable(_ error: KeyRegistryError) -> Refusal {
        Refusal(.attestationUnavailable, detail: "\(error)", retryAfter: storeRetryAfter)
    }

    private func registered(_ verified: VerifiedAttestation, _ id: KeyID, wasKnown: Bool) -> RegisteredKey {
        RegisteredKey(id: id, app: verified.app, environment: verified.environment, wasKnown: wasKnown)
    }
}
