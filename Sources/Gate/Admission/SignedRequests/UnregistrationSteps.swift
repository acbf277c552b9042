package import KeyStore

/// The end of a registration: the key signs it, challenge and counter are used, the end is recorded, then it begins:
/// from here on the key is refused, whatever becomes of this process. A key whose end was interrupted goes on with it.
/// What is refused before it is recorded leaves no line of an end that wasn't one.
struct UnregistrationSteps: DecisionSteps {
    private var steps: KnownKeySteps
    private let key: KeyID
    private let store: GateStore
    private let refuse: @Sendable (KeyID) -> Refusal?
    private var isRecorded = false

    init(
        _ signature: PresentedEndpointSignature, _ settings: AppAttestSettings,
        unless refuse: @escaping @Sendable (KeyID) -> Refusal?
    ) {
        let unknown = Refusal.signed(
            .deviceNotRegistered, detail: "key is not registered", failed: .unregistered(signature.key))
        steps = KnownKeySteps(signature, settings, unknown: unknown, finishing: true) { _ in nil }
        key = signature.key
        store = settings.store
        self.refuse = refuse
    }

    mutating func next(_ answer: StoreAnswer?, at moment: Moment) -> Step<UnregistrationOutcome> {
        guard !isRecorded else { return conclude(answer) }
        return switch steps.next(answer, at: moment) {
        case .ask(let question, let store): .ask(question, of: store)
        case .decided(.registered): record()
        case .decided(.refused(let refusal)): .decided(.refused(refusal))
        case .decided(.unstored(let refusal)): .decided(.unstored(refusal))
        }
    }

    private mutating func record() -> Step<UnregistrationOutcome> {
        if let refusal = refuse(key) { return .decided(.refused(refusal.ofSignedRequest)) }
        isRecorded = true
        return .ask(.trying(.beginErasure(key)), of: store)
    }

    private func conclude(_ answer: StoreAnswer?) -> Step<UnregistrationOutcome> {
        switch answer {
        case .beginErasure: .decided(.begun(key))
        case .failed(let error): .decided(Registrar.unfinished(error))
        default: wrongAnswer(answer)
        }
    }
}

/// The outcome of a device's request to be forgotten.
package enum UnregistrationOutcome: Sendable {
    /// Durable, but not finished: nothing is used up any more, and the key's sessions are to be closed.
    case begun(KeyID)
    case refused(Refusal)
    /// The challenge is used up. If the end was already recorded in the audit log, the store has failed.
    case unstored(Refusal)
}
