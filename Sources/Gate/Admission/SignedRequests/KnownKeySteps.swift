import AppAttest
import KeyStore
import WireText

/// A request that a registered key signs for itself: the key and its signature, which use nothing up; then what the
/// caller objects; then what is used up, challenge and counter.
struct KnownKeySteps: DecisionSteps {
    private let signature: PresentedEndpointSignature
    private let check: AssertionCheck
    /// The answer if nobody knows the key.
    private let unknown: Refusal
    /// It signs nothing but its own end. If that has begun, no counter can be used any more, and none is needed.
    private let finishing: Bool
    private let refuse: Registrar.Objection
    private var signed: (key: RegisteredKey, by: AssertionCheck.Signed)?

    init(
        _ signature: PresentedEndpointSignature, _ settings: AppAttestSettings, unknown: Refusal,
        finishing: Bool = false, unless refuse: @escaping Registrar.Objection
    ) {
        self.signature = signature
        self.unknown = unknown
        self.finishing = finishing
        self.refuse = refuse
        check = AssertionCheck(settings: settings, id: signature.key)
    }

    mutating func next(_ answer: StoreAnswer?, at moment: Moment) -> Step<RegistrationOutcome> {
        switch (answer, signed) {
        case (nil, _): ask(check.question)
        case (.standing(nil, _), nil): .decided(.refused(unknown))
        case (.standing(let standing?, let counter), nil): verify(standing, above: counter, at: moment)
        case (.admit(let spending), let (key, signed)?): conclude(key, signed, by: spending)
        case (.confirm(let spending), let (key, _)?): confirm(key, by: spending)
        case (.failed(let error), _?): .decided(.unstored(Registrar.unavailable(error)))
        default: wrongAnswer(answer)
        }
    }

    private func ask(_ question: StoreQuestion) -> Step<RegistrationOutcome> {
        .ask(question, of: check.settings.store)
    }

    private mutating func verify(
        _ standing: KeyStanding, above counter: UInt32, at moment: Moment
    ) -> Step<RegistrationOutcome> {
        let key: RegisteredKey
        let signed: AssertionCheck.Signed
        do throws(AssertionFault) {
            let signer = try check.accept(standing, above: check.settings.lowest(counter), finishing: finishing)
            signed = try signature.verify(check, by: signer)
            guard let environment = AttestationEnvironment(word: standing.environment) else {
                throw .outOfScope(check.settings.scope.mismatch(of: standing))
            }
            key = RegisteredKey(id: check.id, app: signed.app, environment: environment, wasKnown: true)
        } catch { return .decided(.refused(error.signedRefusal)) }
        if let refusal = refuse(key) { return .decided(.refused(refusal)) }
        self.signed = (key, signed)
        return use(signed, finishing: standing.isBeingErased, at: moment)
    }

    private func use(
        _ signed: AssertionCheck.Signed, finishing: Bool, at moment: Moment
    ) -> Step<RegistrationOutcome> {
        do throws(AssertionFault) {
            let challenge = try check.settings.spendSigned(signature.challenge, at: moment)
            if finishing { return ask(.trying(.confirm(challenge.fleetUse))) }
            let question = check.use(
                signed, of: challenge, admitsLower: true, maximumRise: UInt32(SignedRequestSettings.maximumRise))
            return ask(.trying(question))
        } catch { return .decided(.unstored(error.signedRefusal)) }
    }

    private func confirm(_ key: RegisteredKey, by spending: MarkSpending) -> Step<RegistrationOutcome> {
        if let refused = spending.refused() { return .decided(.unstored(refused.signedRefusal)) }
        return .decided(.registered(key))
    }

    private func conclude(
        _ key: RegisteredKey, _ signed: AssertionCheck.Signed, by spending: AssertionSpending
    ) -> Step<RegistrationOutcome> {
        do throws(AssertionFault) { try check.conclude(spending, signed) } catch {
            return .decided(.unstored(error.signedRefusal))
        }
        return .decided(.registered(key))
    }
}
