import AppAttest
package import KeyStore
import WireText

/// The registration of devices that sign each request, and its end. Here the signatures are over the client data alone,
/// although the body has a digest.
///
/// The order is rate, form, challenge (as it is), block list, attestation, assertion; then what is used up: challenge
/// and counter.
extension Registrar {
    /// Asked about the identity that a client claims, before anything is verified.
    package typealias Blocking = @Sendable (Identity) -> Refusal?

    /// - Parameter refuse: as for ``register(_:unless:)``.
    package func registerSigned(
        _ request: SignedEndpointRequest, ifBlocked: Blocking, unless refuse: @escaping Objection
    ) async -> RegistrationOutcome {
        do throws(RefusedRequest) {
            let signature = try signature(of: request, ifBlocked)
            guard let attestation = try attestation(in: request.fields) else {
                return await decide(confirmation(signature, unless: refuse), at: request.moment)
            }
            let check = AttestationCheck(attestation, of: signature.key, by: verifier, at: request.moment)
            return await decide(
                SignedRegistrationSteps(signature, check, settings, at: request.moment, unless: refuse),
                at: request.moment)
        } catch {
            return .refused(error.refusal)
        }
    }

    /// - Parameters:
    ///   - refuse: called when nothing but the store can fail any more, right before the erasure begins, and records
    ///     that.
    ///   - begin: begins the key's erasure; durable when it returns.
    package func unregister(
        _ request: SignedEndpointRequest, ifBlocked: Blocking,
        unless refuse: @escaping @Sendable (KeyID) -> Refusal?,
        begin: @escaping @Sendable (KeyID) async throws(KeyRegistryError) -> Void
    ) async -> UnregistrationOutcome {
        let steps: UnregistrationSteps
        do throws(RefusedRequest) {
            steps = UnregistrationSteps(try signature(of: request, ifBlocked), settings, unless: refuse)
        } catch {
            return .refused(error.refusal)
        }
        var waiting = waiting
        waiting.beginErasure = begin
        switch await Decision(steps).run(at: request.moment, asking: waiting) {
        case .success(let outcome): return outcome
        case .failure(let error): return .refused(Self.unavailable(error))
        }
    }

    /// Of an unregistration whose second step has failed.
    package static func unfinished(_ error: KeyRegistryError) -> UnregistrationOutcome {
        .unstored(unavailable(error).ofSignedRequest)
    }

    private func decide(
        _ steps: some DecisionSteps<RegistrationOutcome>, at moment: Moment
    ) async -> RegistrationOutcome {
        switch await Decision(steps).run(at: moment, asking: waiting) {
        case .success(let outcome): return outcome
        case .failure(let error): return .refused(Self.unavailable(error))
        }
    }

    /// Of a key that is known, whose app sends no attestation again.
    private func confirmation(
        _ signature: PresentedEndpointSignature, unless refuse: @escaping Objection
    ) -> KnownKeySteps {
        let unknown = Refusal.signed(
            .attestationRequired, detail: "key is not registered, and there is no attestation",
            failed: .unregistered(signature.key))
        return KnownKeySteps(signature, settings, unknown: unknown, unless: refuse)
    }

    // MARK: Form

    private func signature(
        of request: SignedEndpointRequest, _ ifBlocked: Blocking
    ) throws(RefusedRequest) -> PresentedEndpointSignature {
        if let refusal = limits.refuseRegistration(from: request.address, at: request.moment.monotonic) {
            throw RefusedRequest(refusal)
        }
        let signature = try PresentedEndpointSignature(request, settings, maximumBodyBytes: maximumBodyBytes)
        if let refusal = ifBlocked(.signed(signature.key)) {
            throw RefusedRequest(refusal.failing(.identityBlocked).ofSignedRequest)
        }
        return signature
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
}
