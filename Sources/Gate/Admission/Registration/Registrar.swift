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
    /// Called right before the key is stored, and records that. If it returns a refusal, that is the answer and nothing
    /// is stored.
    package typealias Objection = @Sendable (RegisteredKey) -> Refusal?

    // Its other dialects use these, too.
    let settings: AppAttestSettings
    let waiting: WaitingStore
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
        waiting = WaitingStore(keys: registry, attestations: verifier)
        self.verifier = verifier
        self.limits = limits
        self.maximumBodyBytes = maximumBodyBytes
    }

    package func register(
        _ request: TokenRequest, unless refuse: @escaping Objection = { _ in nil }
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
        _ body: JSONObject, at moment: Moment, unless refuse: @escaping Objection
    ) async -> RegistrationOutcome {
        switch RegistrationRequest.read(body, maximumBytes: maximumBodyBytes) {
        case .failure(let unreadable): return .refused(unreadable.refusal)
        case .success(let request):
            let steps = RegistrationSteps(request, settings, verifier, at: moment, unless: refuse)
            switch await Decision(steps).run(at: moment, asking: waiting) {
            case .success(let outcome): return outcome
            case .failure(let error): return .refused(Self.unavailable(error))
            }
        }
    }

    private func registerWithProof(
        _ request: TokenRequest, _ object: JSONObject, unless refuse: @escaping Objection
    ) async -> RegistrationOutcome {
        let steps: ProofRegistrationSteps
        do throws(RefusedRequest) {
            let body = try TokenDialectBody(object)
            guard let tokens else { throw Self.tokensOff }
            let presented = try PresentedRegistration(request, body, tokens, verifier, maximumBytes: maximumBodyBytes)
            steps = ProofRegistrationSteps(presented, tokens, settings, at: request.moment, unless: refuse)
        } catch {
            return .refused(error.refusal)
        }
        switch await Decision(steps).run(at: request.moment, asking: waiting) {
        case .success(let outcome): return outcome
        case .failure(let error): return RegistrationOutcome.refused(Self.unavailable(error)).inTokenDialect
        }
    }

    private static var tokensOff: RefusedRequest {
        RefusedRequest(
            .token(
                .attestationFailed, detail: "access tokens are not configured",
                reason: "access tokens are not configured at this gateway", failed: FailedCheck(.body)))
    }
}

extension Registrar {
    /// Seconds.
    private static let storeRetryAfter = 5

    /// Seconds. An erasure takes less, unless it was interrupted.
    private static let erasureRetryAfter = 5

    static let revoked = Refusal(.keyRevoked, detail: "key is revoked")
    static let erasing = Refusal(
        .attestationUnavailable, detail: "key is being erased", retryAfter: erasureRetryAfter,
        failed: FailedCheck(.keyStored))

    static func unavailable(_ error: KeyRegistryError) -> Refusal {
        Refusal(
            .attestationUnavailable, detail: "\(error)", retryAfter: storeRetryAfter, failed: FailedCheck(.keyStored))
    }
}

extension RegistrationOutcome {
    /// The same outcome in the words of the token dialect.
    var inTokenDialect: RegistrationOutcome {
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
