import AppAttest
import KeyStore

/// A registration with an attestation: that and the assertion, which use nothing up; then the challenge is used up, the
/// key is recorded, and the assertion's counter is used.
struct SignedRegistrationSteps: DecisionSteps {
    private let signature: PresentedEndpointSignature
    private let attestation: AttestationCheck
    private let check: AssertionCheck
    private let began: Moment
    private let refuse: Registrar.Objection
    private var verified: VerifiedAttestation?
    private var signed: AssertionCheck.Signed?
    private var enrolment: EnrolmentSteps?
    private var registered: RegisteredKey?

    init(
        _ signature: PresentedEndpointSignature, _ attestation: AttestationCheck, _ settings: AppAttestSettings,
        at moment: Moment, unless refuse: @escaping Registrar.Objection
    ) {
        self.signature = signature
        self.attestation = attestation
        self.refuse = refuse
        check = AssertionCheck(settings: settings, id: signature.key)
        began = moment
    }

    mutating func next(_ answer: StoreAnswer?, at moment: Moment) -> Step<RegistrationOutcome> {
        if let registered, let signed { return conclude(registered, signed, by: answer) }
        if let step = enrolment?.next(answer, at: moment) { return count(step) }
        do throws(RefusedRequest) {
            switch (answer, verified) {
            case (nil, _): return ask(attestation.question(over: signature.clientDataHash))
            case (.attestation(let result), nil): return try spend(accept(result))
            case (.confirm(let spending), let verified?):
                if let refused = spending.refused() { throw RefusedRequest(refused.signedRefusal) }
                return enrol(verified, at: moment)
            default: wrongAnswer(answer)
            }
        } catch {
            return .decided(.refused(error.refusal))
        }
    }

    private func ask(_ question: StoreQuestion) -> Step<RegistrationOutcome> {
        .ask(question, of: check.settings.store)
    }

    private func accept(
        _ result: Result<VerifiedAttestation, AttestationError>
    ) throws(RefusedRequest) -> VerifiedAttestation {
        do throws(AttestationError) { return try result.get() } catch {
            throw RefusedRequest(
                .signed(
                    .attestationPayloadRejected, detail: "attestation: \(error)", failed: attestation.failed(error)))
        }
    }

    /// In a fleet, a challenge that isn't the fleet's is foreign.
    private mutating func spend(_ verified: VerifiedAttestation) throws(RefusedRequest) -> Step<RegistrationOutcome> {
        self.verified = verified
        do throws(AssertionFault) {
            signed = try signature.verify(check, by: verified)
            let challenge = try check.settings.spendSigned(signature.challenge, at: began)
            return ask(.confirm(challenge.fleetUse))
        } catch { throw RefusedRequest(error.signedRefusal) }
    }

    private mutating func enrol(_ verified: VerifiedAttestation, at moment: Moment) -> Step<RegistrationOutcome> {
        var steps = EnrolmentSteps(
            verified, as: signature.key, in: check.settings.store, at: began,
            whileErased: .beingErased(signature.key), unless: refuse)
        defer { enrolment = steps }
        return steps.next(nil, at: moment)
    }

    /// The challenge is spent, so the assertion is new, and good nowhere else. Its counter is used all the same, which
    /// may show that another device has the key.
    private mutating func count(_ step: Step<RegistrationOutcome>) -> Step<RegistrationOutcome> {
        guard case .decided(let outcome) = step else { return step }
        guard case .registered(let key) = outcome, let signed else { return .decided(outcome.ofSignedRequest) }
        registered = key
        let use = check.counterUse(
            of: signed, admitsLower: true, maximumRise: UInt32(SignedRequestSettings.maximumRise))
        return ask(.trying(.use(use, of: key.id)))
    }

    private func conclude(
        _ key: RegisteredKey, _ signed: AssertionCheck.Signed, by answer: StoreAnswer?
    ) -> Step<RegistrationOutcome> {
        switch answer {
        case .use(let advance):
            do throws(AssertionFault) { try check.conclude(.notAdvanced(advance), signed) } catch {
                return .decided(.unstored(error.signedRefusal))
            }
            return .decided(.registered(key))
        // The key is stored, and the assertion can't be used again.
        case .failed: return .decided(.registered(key))
        default: wrongAnswer(answer)
        }
    }
}

extension RegistrationOutcome {
    /// The same outcome in the words of this dialect.
    fileprivate var ofSignedRequest: RegistrationOutcome {
        switch self {
        case .registered: self
        case .refused(let refusal): .refused(refusal.ofSignedRequest)
        case .unstored(let refusal): .unstored(refusal.ofSignedRequest)
        }
    }
}
