import AppAttest
import Crypto
package import KeyStore
package import WireText

/// A request to `/register`, `/devices` or `/unregister`, as received.
package struct SignedEndpointRequest: Sendable {
    package var method: String
    package var fields: SignedFields
    package var body: [UInt8]
    package var address: IPAddress
    package var moment: Moment

    package init(method: String, fields: SignedFields, body: [UInt8], address: IPAddress, moment: Moment) {
        self.method = method
        self.fields = fields
        self.body = body
        self.address = address
        self.moment = moment
    }
}

/// The registration of devices that sign each request, and its end. Here the signatures are over the client data alone,
/// although the body has a digest.
///
/// The order is rate, form, challenge (as it is), attestation, assertion; then what is used up: challenge and counter.
extension Registrar {
    /// - Parameter refuse: as for ``register(_:unless:)``.
    package func registerSigned(
        _ request: SignedEndpointRequest, unless refuse: @Sendable (RegisteredKey) -> Refusal?
    ) async -> RegistrationOutcome {
        do throws(RefusedRequest) {
            let form = try form(of: request)
            guard let attestation = try attestation(in: request.fields) else {
                return try await confirm(form, at: request.moment, unless: refuse)
            }
            return try await register(form, attestation, at: request.moment, unless: refuse)
        } catch {
            return .refused(error.refusal)
        }
    }

    /// - Parameters:
    ///   - refuse: called right before the key is forgotten, and records that.
    ///   - forget: closes the key's sessions and removes it.
    package func unregister(
        _ request: SignedEndpointRequest, unless refuse: @Sendable (KeyID) -> Refusal?,
        forget: @Sendable (KeyID) async throws(KeyRegistryError) -> Void
    ) async -> Refusal? {
        do throws(RefusedRequest) {
            let form = try form(of: request)
            guard let standing = try await standing(of: form.key) else {
                return .signed(
                    .deviceNotRegistered, detail: "key is not registered", failed: .unregistered(form.key))
            }
            let signed = try verify(form, by: standing)
            if let refusal = refuse(form.key) { return refusal }
            try await use(signed, form, at: request.moment)
            do throws(KeyRegistryError) { try await forget(form.key) } catch { return Self.unavailable(error) }
            return nil
        } catch {
            return error.refusal
        }
    }

    // MARK: Form

    private func form(of request: SignedEndpointRequest) throws(RefusedRequest) -> SignedForm {
        if let refusal = limits.refuseRegistration(from: request.address, at: request.moment.monotonic) {
            throw RefusedRequest(refusal)
        }
        guard request.body.count <= maximumBodyBytes else {
            throw RefusedRequest(Refusal(.bodyTooLarge, detail: "body is over MAX_BODY_BYTES"))
        }
        let signature: PresentedSignature
        do throws(SignedRequestFault) {
            signature = try PresentedSignature(
                request.fields, maximumAssertionBytes: settings.maximumAssertionBytes)
            guard signature.clientData.isOfBody else { throw .recipe }
            let digest = request.body.isEmpty ? nil : Array(SHA256.hash(data: request.body))
            guard signature.bodyDigest == digest else { throw .digest }
        } catch { throw RefusedRequest(error.refusal) }
        if let spending = settings.challenges.refusalOfSigned(signature.challenge, at: request.moment.monotonic) {
            throw RefusedRequest(spending.signedRefusal)
        }
        return SignedForm(signature)
    }

    /// - Returns: nil where there is none.
    private func attestation(in fields: SignedFields) throws(RefusedRequest) -> [UInt8]? {
        do throws(SignedRequestFault) {
            guard let text = try fields.single(SignedField.attestation), !text.isEmpty else { return nil }
            guard let bytes = Base64.decode(text, maximumBytes: maximumBodyBytes) else {
                throw .malformed(SignedField.attestation)
            }
            return bytes
        } catch { throw RefusedRequest(error.refusal) }
    }

    // MARK: Registration

    private func register(
        _ form: SignedForm, _ attestation: [UInt8], at moment: Moment,
        unless refuse: @Sendable (RegisteredKey) -> Refusal?
    ) async throws(RefusedRequest) -> RegistrationOutcome {
        let verified = try await verifySigned(attestation, form, at: moment)
        let signed: AssertionCheck.Signed
        do throws(AssertionFault) {
            signed = try AssertionCheck(settings: settings, id: form.key).verify(
                form.assertion, over: form.hash, by: verified)
        } catch { throw RefusedRequest(error.signedRefusal) }
        let challenge = try await spend(form, at: moment)
        let outcome = await enrol(verified, as: form.key, at: moment, unless: refuse)
        guard case .registered = outcome else { return outcome.ofSignedRequest }
        // Its challenge is spent, so the assertion is new. Its counter is used all the same, for all other dialects.
        do throws(RefusedRequest) { try await use(signed, of: form.key, challenge, at: moment) } catch {
            return .unstored(error.refusal)
        }
        return outcome
    }

    private func verifySigned(
        _ attestation: [UInt8], _ form: SignedForm, at moment: Moment
    ) async throws(RefusedRequest) -> VerifiedAttestation {
        do throws(AttestationError) {
            return try await verify(attestation, of: form.key, over: form.hash, at: moment)
        } catch {
            let verifier = verifier
            let failed = FailedCheck(
                error.check,
                verifier.discrepancy(error, in: attestation, keyID: form.key.bytes, at: moment.date))
            throw RefusedRequest(
                .signed(.attestationPayloadRejected, detail: "attestation: \(error)", failed: failed))
        }
    }

    /// Of a key that is known, whose app sends no attestation again.
    private func confirm(
        _ form: SignedForm, at moment: Moment, unless refuse: @Sendable (RegisteredKey) -> Refusal?
    ) async throws(RefusedRequest) -> RegistrationOutcome {
        guard let standing = try await standing(of: form.key) else {
            throw RefusedRequest(
                .signed(
                    .attestationRequired, detail: "key is not registered, and there is no attestation",
                    failed: .unregistered(form.key)))
        }
        let signed = try verify(form, by: standing)
        guard let environment = AttestationEnvironment(word: standing.environment) else {
            throw RefusedRequest(AssertionFault.outOfScope(settings.scope.mismatch(of: standing)).signedRefusal)
        }
        let key = RegisteredKey(id: form.key, app: signed.app, environment: environment, wasKnown: true)
        if let refusal = refuse(key) { return .refused(refusal) }
        do throws(RefusedRequest) { try await use(signed, form, at: moment) } catch {
            return .unstored(error.refusal)
        }
        return .registered(key)
    }

    // MARK: Key, signature, and what is used up

    private func standing(of id: KeyID) async throws(RefusedRequest) -> KeyStanding? {
        do throws(KeyRegistryError) { return try await registry.standing(of: id) } catch {
            throw RefusedRequest(Self.unavailable(error))
        }
    }

    private func verify(
        _ form: SignedForm, by standing: KeyStanding
    ) throws(RefusedRequest) -> AssertionCheck.Signed {
        let check = AssertionCheck(settings: settings, id: form.key)
        do throws(AssertionFault) {
            let key = try check.accept(standing, above: settings.lowest(standing.counter))
            return try check.verify(form.assertion, over: form.hash, by: key)
        } catch { throw RefusedRequest(error.signedRefusal) }
    }

    private func use(
        _ signed: AssertionCheck.Signed, _ form: SignedForm, at moment: Moment
    ) async throws(RefusedRequest) {
        try await use(signed, of: form.key, try await spend(form, at: moment), at: moment)
    }

    private func spend(_ form: SignedForm, at moment: Moment) async throws(RefusedRequest) -> SpentChallenge {
        let own = settings.challenges.spendSigned(form.challenge, at: moment.monotonic)
        let spending: ChallengeSpending
        do throws(KeyRegistryError) { spending = try await settings.confirm(own, at: moment.monotonic) } catch {
            throw RefusedRequest(Self.unavailable(error))
        }
        guard case .spent(let challenge) = spending else { throw RefusedRequest(spending.signedRefusal) }
        return challenge
    }

    /// - Parameter challenge: spent, in the whole fleet.
    private func use(
        _ signed: AssertionCheck.Signed, of id: KeyID, _ challenge: SpentChallenge, at moment: Moment
    ) async throws(RefusedRequest) {
        let use = CounterUse(
            signed.assertion.counter, in: settings.window, admitsLower: true,
            maximumRise: UInt32(SignedRequestSettings.maximumRise))
        let advance: CounterAdvance
        do throws(KeyRegistryError) {
            advance = try await registry.use(use, of: id, at: moment.unixMilliseconds)
        } catch { throw RefusedRequest(Self.unavailable(error)) }
        do throws(AssertionFault) {
            try AssertionCheck(settings: settings, id: id).conclude(.notAdvanced(advance), signed)
        } catch { throw RefusedRequest(error.signedRefusal) }
    }
}

/// A request whose form is right, of recipe 1 without a body.
private struct SignedForm: Sendable {
    let key: KeyID
    let challenge: String
    let assertion: [UInt8]
    /// SHA-256 of the client data.
    let hash: [UInt8]

    init(_ signature: PresentedSignature) {
        (key, challenge, assertion) = (signature.key, signature.challenge, signature.assertion)
        hash = Array(SHA256.hash(data: signature.clientDataBytes))
    }
}

extension RegistrationOutcome {
    /// The same outcome in the words of this dialect.
    fileprivate var ofSignedRequest: RegistrationOutcome {
        func signed(_ refusal: Refusal) -> Refusal {
            .signed(
                refusal.answer, detail: refusal.detail, retryAfter: refusal.retryAfter, failed: refusal.failed)
        }
        return switch self {
        case .registered: self
        case .refused(let refusal): .refused(signed(refusal))
        case .unstored(let refusal): .unstored(signed(refusal))
        }
    }
}
