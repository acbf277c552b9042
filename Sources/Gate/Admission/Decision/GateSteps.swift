import KeyStore

/// The decision of a gate on one request: policies, the chosen method's steps, and what follows from their outcome. It
/// keeps the gate that it began with, also if a reload has replaced that meanwhile.
struct GateSteps: DecisionSteps {
    private enum Stage {
        case policies
        case verification
        /// Of a client that was admitted earlier.
        case recheck(Principal)
        /// Of a client that is admitted despite its refusal, with this proof, unless its credential names a revoked
        /// identity.
        case revocation(any AdmissionProof)
    }

    private let gate: Gate
    private let policies: [any AdmissionPolicy]
    private let attempt: AdmissionAttempt
    private var stage = Stage.policies
    private var secret: SharedSecret?
    private var verification: Inquiry<Verification>?
    /// Of a recheck, or a revocation.
    private var refusal: Inquiry<Refusal?>?

    init(_ gate: Gate, _ policies: [any AdmissionPolicy], _ attempt: AdmissionAttempt) {
        self.gate = gate
        self.policies = policies
        self.attempt = attempt
    }

    mutating func next(
        _ answer: StoreAnswer?, at moment: Moment
    ) throws(KeyRegistryError) -> Step<CredentialDecision> {
        switch stage {
        case .policies: try begin(at: moment)
        case .verification: try verify(answer, at: moment)
        case .recheck(let principal): try recheck(principal, answer, at: moment)
        case .revocation(let proof): try exempt(with: proof, answer, at: moment)
        }
    }

    private mutating func begin(at moment: Moment) throws(KeyRegistryError) -> Step<CredentialDecision> {
        for policy in policies {
            switch policy.evaluate(attempt) {
            case .passed: continue
            case .showed(let shown): secret = shown
            case .refused(let refusal): return decided(counting: refusal)
            }
        }
        guard let chosen = attempt.chosen else { return try refuse(Gate.undecided(attempt.request), at: moment) }
        stage = .verification
        verification = try chosen.verify(attempt.request)
        return try verify(nil, at: moment)
    }

    private mutating func verify(
        _ answer: StoreAnswer?, at moment: Moment
    ) throws(KeyRegistryError) -> Step<CredentialDecision> {
        guard let step = try verification?.next(answer, at: moment) else { wrongAnswer(answer) }
        switch step {
        case .ask(let question, let store): return .ask(question, of: store)
        case .decided(let verification): return try conclude(verification, at: moment)
        }
    }

    private mutating func conclude(
        _ verification: Verification, at moment: Moment
    ) throws(KeyRegistryError) -> Step<CredentialDecision> {
        switch gate.resolve(verification, at: moment) {
        case .verified(let identity, let proof):
            guard let traits = attempt.chosen?.traits, traits.identityNames.contains(identity.method),
                identity.subject?.isEmpty == false
            else { return try refuse(attempt.withoutIdentity, at: moment) }
            return admit(Principal(identity, proof: proof))
        case .anonymous: return admit(.anonymous)
        case .given(let principal):
            stage = .recheck(principal)
            refusal = gate.proof.recheck(principal, at: moment)
            return try recheck(principal, nil, at: moment)
        case .refused(let refusal): return try refuse(refusal, at: moment)
        case .held: return try refuse(attempt.withoutIdentity, at: moment)
        }
    }

    private mutating func recheck(
        _ principal: Principal, _ answer: StoreAnswer?, at moment: Moment
    ) throws(KeyRegistryError) -> Step<CredentialDecision> {
        guard let step = try refusal?.next(answer, at: moment) else { wrongAnswer(answer) }
        switch step {
        case .ask(let question, let store): return .ask(question, of: store)
        case .decided(nil): return admit(principal)
        case .decided(let refusal?): return try refuse(refusal.failing(.holder), at: moment)
        }
    }

    /// Refuses a client for its credentials, unless a method admits it all the same (`REQUIRE_APP_AUTH=report`). Such a
    /// client is admitted by the same rules as anonymous ones, and not counted as a failed upgrade. A revoked key stays
    /// refused.
    private mutating func refuse(
        _ refusal: Refusal, at moment: Moment
    ) throws(KeyRegistryError) -> Step<CredentialDecision> {
        var request = attempt.request
        request.moment = moment
        guard let proof = gate.exemption(from: refusal.naming(attempt.method), of: request) else {
            return decided(counting: refusal)
        }
        guard let chosen = attempt.chosen else { return admit(Principal(.anonymous, proof: proof)) }
        stage = .revocation(proof)
        self.refusal = chosen.revocation()
        return try exempt(with: proof, nil, at: moment)
    }

    private mutating func exempt(
        with proof: any AdmissionProof, _ answer: StoreAnswer?, at moment: Moment
    ) throws(KeyRegistryError) -> Step<CredentialDecision> {
        guard let step = try refusal?.next(answer, at: moment) else { wrongAnswer(answer) }
        switch step {
        case .ask(let question, let store): return .ask(question, of: store)
        case .decided(nil): return admit(Principal(.anonymous, proof: proof))
        case .decided(let revocation?): return decided(counting: revocation)
        }
    }

    // MARK: Outcomes

    private func admit(_ principal: Principal) -> Step<CredentialDecision> {
        .decided(gate.checking(principal.showing(secret), for: attempt))
    }

    private func decided(counting refusal: Refusal) -> Step<CredentialDecision> {
        .decided(.refused(gate.afterCounting(refusal, of: attempt)))
    }
}

extension AdmissionAttempt {
    /// For a method that says it has verified somebody whom it can't verify.
    fileprivate var withoutIdentity: Refusal {
        Refusal(.appAuthRequired, detail: "\(chosen?.traits.name.label ?? "") returned no identity")
    }
}
