import AppAttest
import KeyStore

/// A registration in the guide's dialect: its challenge is used up, then the attestation is verified, then the key is
/// recorded.
struct RegistrationSteps: DecisionSteps {
    private let nonce: String
    private let settings: AppAttestSettings
    private let check: AttestationCheck
    private let began: Moment
    private let refuse: Registrar.Objection
    private var challenge: SpentChallenge?
    private var enrolment: EnrolmentSteps?

    init(
        _ request: RegistrationRequest, _ settings: AppAttestSettings, _ verifier: AttestationVerifier,
        at moment: Moment, unless refuse: @escaping Registrar.Objection
    ) {
        nonce = request.nonce
        self.settings = settings
        self.refuse = refuse
        check = AttestationCheck(request.attestation, of: request.keyID, by: verifier, at: moment)
        began = moment
    }

    mutating func next(_ answer: StoreAnswer?, at moment: Moment) -> Step<RegistrationOutcome> {
        if let step = enrolment?.next(answer, at: moment) { return step }
        return switch (answer, challenge) {
        case (nil, _): spend()
        case (.confirm(let spending), let challenge?): verify(over: challenge, by: spending)
        case (.attestation(.success(let verified)), _): enrol(verified, at: moment)
        case (.attestation(.failure(let error)), _): .decided(.refused(refusal(error)))
        default: wrongAnswer(answer)
        }
    }

    private mutating func spend() -> Step<RegistrationOutcome> {
        switch settings.challenges.spend(nonce, at: began.monotonic) {
        case .spent(let challenge):
            self.challenge = challenge
            return .ask(.confirm(challenge.fleetUse), of: settings.store)
        case let spending: return .decided(.refused(spending.registrationRefusal))
        }
    }

    private func verify(over challenge: SpentChallenge, by spending: MarkSpending) -> Step<RegistrationOutcome> {
        if let refused = spending.refused() { return .decided(.refused(refused.registrationRefusal)) }
        return .ask(check.question(over: challenge.clientDataHash), of: settings.store)
    }

    private mutating func enrol(_ verified: VerifiedAttestation, at moment: Moment) -> Step<RegistrationOutcome> {
        var steps = EnrolmentSteps(verified, as: check.id, in: settings.store, at: began, unless: refuse)
        defer { enrolment = steps }
        return steps.next(nil, at: moment)
    }

    private func refusal(_ error: AttestationError) -> Refusal {
        Refusal(
            error == .rpIDHashMismatch ? .attestedAppMismatch : .attestationRejected,
            detail: "attestation: \(error)", reason: check.reason(error), failed: check.failed(error))
    }
}

extension ChallengeSpending {
    /// Not of `.spent`.
    fileprivate var registrationRefusal: Refusal {
        if case .full(let seconds) = self {
            return Refusal(
                .challengesExhausted, detail: "spent challenges are at their maximum", retryAfter: seconds)
        }
        return Refusal(.invalidRegistrationNonce, detail: detail, reason: reason, failed: failed)
    }
}
