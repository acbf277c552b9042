import AppAttest
import KeyStore

/// The key of a verified attestation is recorded, unless it is revoked, or the caller refuses. A key that is revoked
/// after it was looked up is refused by the store.
struct EnrolmentSteps: DecisionSteps {
    private let attestation: VerifiedAttestation
    private let id: KeyID
    private let store: GateStore
    private let began: Moment
    private let whileErased: Refusal
    private let refuse: Registrar.Objection

    /// - Parameters:
    ///   - id: the verifier has confirmed that it is the attested key's.
    ///   - whileErased: the answer while an erasure of the key, which isn't a revocation, hasn't ended.
    init(
        _ attestation: VerifiedAttestation, as id: KeyID, in store: GateStore, at moment: Moment,
        whileErased: Refusal = Registrar.erasing, unless refuse: @escaping Registrar.Objection
    ) {
        self.attestation = attestation
        self.id = id
        self.store = store
        self.whileErased = whileErased
        self.refuse = refuse
        began = moment
    }

    mutating func next(_ answer: StoreAnswer?, at moment: Moment) -> Step<RegistrationOutcome> {
        switch answer {
        case nil: .ask(.standing(id, for: .enrolment), of: store)
        case .standing(let known, _): enrol(known)
        case .enrol(.enrolled): .decided(.registered(registered(wasKnown: false)))
        case .enrol(.alreadyEnrolled): .decided(.registered(registered(wasKnown: true)))
        case .enrol(.revoked): .decided(.unstored(Registrar.revoked))
        case .failed(let error): .decided(.unstored(Registrar.unavailable(error)))
        default: wrongAnswer(answer)
        }
    }

    private func enrol(_ known: KeyStanding?) -> Step<RegistrationOutcome> {
        guard known?.isBeingErased != true else { return .decided(.refused(whileErased)) }
        guard known?.isRevoked != true else { return .decided(.refused(Registrar.revoked)) }
        if let refusal = refuse(registered(wasKnown: known != nil)) { return .decided(.refused(refusal)) }
        return .ask(.trying(.enrol(key)), of: store)
    }

    private var key: DeviceKey {
        DeviceKey(
            id: id, publicKeyX963: attestation.publicKeyX963, app: attestation.app.description,
            environment: attestation.environment.rawValue, trustRoot: attestation.trustRootFingerprint, counter: 0,
            receipt: attestation.receipt, validationCategory: attestation.validationCategory,
            bundleVersion: attestation.bundleVersion, registeredAt: began.unixMilliseconds, lastUsedAt: nil,
            revokedAt: nil, revocationReason: nil)
    }

    private func registered(wasKnown: Bool) -> RegisteredKey {
        RegisteredKey(id: id, app: attestation.app, environment: attestation.environment, wasKnown: wasKnown)
    }
}
