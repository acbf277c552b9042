import AppAttest
import DPoP
import KeyStore

/// A registration as a client of the token dialect presents it: its form is right, and its proof verified. Nothing is
/// used up.
struct PresentedRegistration: Sendable {
    let check: AttestationCheck
    let app: AppID
    let nonce: String
    /// The device key, which the attestation is bound to.
    let key: PublicJWK
    let proof: UnspentProof

    init(
        _ request: TokenRequest, _ body: TokenDialectBody, _ tokens: TokenSettings, _ verifier: AttestationVerifier,
        maximumBytes: Int
    ) throws(RefusedRequest) {
        guard tokens.origins.areKnown else { throw RefusedRequest(.publicOriginRequired) }
        let id = try body.keyID()
        (app, nonce, key) = (try body.app(), try body.nonce(), body.key)
        let attestation = try body.attestationObject(maximumBytes: maximumBytes)
        check = AttestationCheck(attestation, of: id, for: app, by: verifier, at: request.moment)
        proof = try tokens.checkProof(of: request, body, .ignored)
    }
}

/// A registration in the token dialect: its challenge and attestation, which use nothing up; then what is used up,
/// proof and challenge; then the key is recorded.
///
/// The proof is spent for an attested key alone, and the challenge after it. What bounds the attestations that a
/// stranger has verified is the rate of its address.
struct ProofRegistrationSteps: DecisionSteps {
    private let presented: PresentedRegistration
    private let tokens: TokenSettings
    private let settings: AppAttestSettings
    private let began: Moment
    private let refuse: Registrar.Objection
    private var verified: VerifiedAttestation?
    private var enrolment: EnrolmentSteps?

    init(
        _ presented: PresentedRegistration, _ tokens: TokenSettings, _ settings: AppAttestSettings,
        at moment: Moment, unless refuse: @escaping Registrar.Objection
    ) {
        self.presented = presented
        self.tokens = tokens
        self.settings = settings
        self.refuse = refuse
        began = moment
    }

    mutating func next(_ answer: StoreAnswer?, at moment: Moment) -> Step<RegistrationOutcome> {
        if let step = enrolment?.next(answer, at: moment) { return step.inTokenDialect }
        do throws(RefusedRequest) {
            switch (answer, verified) {
            case (nil, _): return try verify()
            case (.attestation(let result), nil): return try spend(accept(result))
            case (.spend(let spending), _?): return try spendChallenge(by: spending)
            case (.failed(let error), _?): throw .unavailable(error)
            case (.confirm(let spending), let verified?):
                if let refused = spending.refused() { throw RefusedRequest(refused.tokenRefusal) }
                return enrol(verified, at: moment).inTokenDialect
            default: wrongAnswer(answer)
            }
        } catch {
            return .decided(.refused(error.refusal))
        }
    }

    private func verify() throws(RefusedRequest) -> Step<RegistrationOutcome> {
        let open = try settings.challenges.examine(presented.nonce, for: .registration, at: began.monotonic)
            .openInTokenDialect()
        try tokens.refuseUsed(presented.proof, at: .registration, in: began, freshBy: .challenge)
        let question = presented.check.question(over: open.clientDataHash(binding: presented.key))
        return .ask(question, of: settings.store)
    }

    /// The attestation must be for the app that the request names.
    private func accept(
        _ result: Result<VerifiedAttestation, AttestationError>
    ) throws(RefusedRequest) -> VerifiedAttestation {
        let (check, app) = (presented.check, presented.app)
        let verified: VerifiedAttestation
        do throws(AttestationError) { verified = try result.get() } catch {
            throw RefusedRequest(
                .token(
                    .attestationFailed, detail: "attestation: \(error)", reason: check.reason(error),
                    failed: check.failed(error)))
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

    private mutating func spend(_ verified: VerifiedAttestation) throws(RefusedRequest) -> Step<RegistrationOutcome> {
        self.verified = verified
        let (own, claim) = tokens.claim(presented.proof, at: .registration, began, freshBy: .challenge)
        guard own == .spent else { return try spendChallenge(by: own) }
        return .ask(.trying(.spend(claim)), of: tokens.store)
    }

    private func spendChallenge(by spending: ReplaySpending) throws(RefusedRequest) -> Step<RegistrationOutcome> {
        _ = try tokens.conclude(presented.proof, by: spending.found(with: .challenge), in: began)
        let challenge = try settings.challenges.spend(presented.nonce, for: .registration, at: began.monotonic)
            .spentInTokenDialect()
        return .ask(.confirm(challenge.fleetUse), of: settings.store)
    }

    private mutating func enrol(_ verified: VerifiedAttestation, at moment: Moment) -> Step<RegistrationOutcome> {
        let refuse = refuse
        var steps = EnrolmentSteps(verified, as: presented.check.id, in: settings.store, at: began) {
            refuse($0)?.forTokenClient()
        }
        defer { enrolment = steps }
        return steps.next(nil, at: moment)
    }
}

extension Step<RegistrationOutcome> {
    fileprivate var inTokenDialect: Step {
        guard case .decided(let outcome) = self else { return self }
        return .decided(outcome.inTokenDialect)
    }
}
