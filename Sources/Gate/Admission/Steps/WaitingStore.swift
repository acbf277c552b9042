import AppAttest
package import KeyStore

/// Where the questions of decisions are answered that may wait, off the reactors: by the parts of a store that wait,
/// and by the verifier of attestations. All other questions go to the decision's ``GateStore``.
package struct WaitingStore: Sendable {
    /// `nil`: there are no keys.
    var keys: (any KeyRegistry)?
    /// `nil`: nobody registers.
    var attestations: AttestationVerifier?
    /// Begins the erasure of a key. `nil`: nobody unregisters.
    var beginErasure: (@Sendable (KeyID) async throws(KeyRegistryError) -> Void)?
    /// `nil`: there are no accounts.
    var accounts: (any AccountStore)?

    func answer(
        _ question: StoreQuestion, of store: GateStore, at moment: Moment
    ) async throws(KeyRegistryError) -> StoreAnswer {
        switch question {
        case .attestation(let presented): return .attestation(await verify(presented, at: moment))
        case .redeem(let token, let device):
            let standing = try await store.development?.redeem(token, by: device, at: moment.unixMilliseconds)
            return .redeem(standing ?? .refused(.unknown))
        case .beginErasure(let id):
            guard let beginErasure else { preconditionFailure("Only who unregisters is forgotten.") }
            try await beginErasure(id)
            return .beginErasure
        case .passkey(let mark):
            // A store that answers at once doesn't need a thread of its own for it.
            if case .immediate(let registry) = store.accounts { return .passkey(try registry.passkey(mark)) }
            return .passkey(try await accountStore().passkey(mark))
        case .signIn(let signIn, let proof, let challenge):
            return .signIn(try await record(signIn, proof, challenge, of: store, at: moment))
        case .refresh(let use, let proof): return .refresh(try await refresh(use, proof, of: store, at: moment))
        case .trying(let question):
            do throws(KeyRegistryError) { return try await answer(question, of: store, at: moment) } catch {
                return .failed(error)
            }
        default:
            if let keys, let answer = try await answer(question, of: store, from: keys, at: moment) { return answer }
            return try await store.answer(question, at: moment)
        }
    }

    /// - Returns: `nil` if the question isn't answered by the part of the store that waits.
    private func answer(
        _ question: StoreQuestion, of store: GateStore, from keys: any KeyRegistry, at moment: Moment
    ) async throws(KeyRegistryError) -> StoreAnswer? {
        switch (question, store.devices) {
        case (.enrol(let key), _): return .enrol(try await keys.enrol(key))
        case (.use(let use, let id), _): return .use(try await keys.use(use, of: id, at: moment.unixMilliseconds))
        case (.standing(let id, _), .immediate):
            let standing = try await keys.standing(of: id)
            return .standing(standing, counter: standing?.counter ?? 0)
        // The store alone compares counters.
        case (.standing(let id, _), _): return .standing(try await keys.standing(of: id), counter: 0)
        case (.admit(let claim), .immediate):
            let advance = try await keys.use(claim.use, of: claim.key, at: moment.unixMilliseconds)
            return .admit(advance == .advanced ? .admitted : .notAdvanced(advance))
        default: return nil
        }
    }

    private func record(
        _ signIn: PasskeySignIn, _ proof: ProofClaim?, _ challenge: SignInMarks.Mark?, of store: GateStore,
        at moment: Moment
    ) async throws(KeyRegistryError) -> PasskeySigningIn {
        // This gateway's own replay store has found the proof unused.
        guard let fleet = store.fleet else {
            return try await accountStore().signIn(signIn, spending: SignInMarks(challenge: challenge))
        }
        let use = proof.flatMap { FleetUse($0) }
        let marks = SignInMarks(
            proof: use.map { ($0.mark, $0.incarnation) }, challenge: challenge,
            askedAt: fleet.latestTime(at: store.now(after: moment)))
        let outcome = try await accountStore().signIn(signIn, spending: marks)
        if case .passkey(.refused(let spending)) = outcome {
            await fleet.learnIfForeign(spending, at: moment.monotonic)
        }
        return outcome
    }

    private func refresh(
        _ use: RefreshUse, _ proof: ProofClaim, of store: GateStore, at moment: Moment
    ) async throws(KeyRegistryError) -> RefreshOutcome {
        let families = try accountStore()
        // This gateway's own replay store has found it unused.
        guard let fleet = store.fleet else { return try await families.use(use, spending: nil) }
        guard let mark = FleetUse(proof) else { return .refused(.expired) }
        var use = use
        use.askedAt = fleet.latestTime(at: store.now(after: moment))
        let outcome = try await families.use(use, spending: (mark.mark, mark.incarnation))
        if case .refused(let spending) = outcome { await fleet.learnIfForeign(spending, at: moment.monotonic) }
        return outcome
    }

    private func accountStore() throws(KeyRegistryError) -> any AccountStore {
        guard let accounts else { throw .unavailable("there are no accounts") }
        return accounts
    }

    private func verify(
        _ presented: PresentedAttestation, at moment: Moment
    ) async -> Result<VerifiedAttestation, AttestationError> {
        guard let attestations else { preconditionFailure("Only a registration has an attestation.") }
        do throws(AttestationError) {
            return .success(
                try await attestations.verify(
                    attestation: presented.object, keyID: presented.id.bytes,
                    clientDataHash: presented.clientDataHash, at: moment.date))
        } catch {
            return .failure(error)
        }
    }
}

extension WaitingStore {
    package init(keys: (any KeyRegistry)?, accounts: (any AccountStore)?) {
        self.init(keys: keys, attestations: nil)
        self.accounts = accounts
    }

    /// One question of a caller that may wait.
    package func ask(
        _ question: StoreQuestion, of store: GateStore, at moment: Moment
    ) async throws(KeyRegistryError) -> StoreAnswer {
        try await answer(question, of: store, at: moment)
    }

    /// Begins a family without the use of a passkey.
    package func begin(
        _ family: RefreshFamily, of store: GateStore, at moment: Moment
    ) async throws(KeyRegistryError) -> RefreshBeginning {
        let askedAt = store.fleet?.latestTime(at: store.now(after: moment))
        return try await accountStore().begin(family, askedAt: askedAt)
    }
}

extension GateStore {
    fileprivate func answer(_ question: StoreQuestion, at moment: Moment) async throws(KeyRegistryError) -> StoreAnswer
    {
        let answer: Result<StoreAnswer, KeyRegistryError> = await withCheckedContinuation { continuation in
            self.answer(question, at: moment) { continuation.resume(returning: $0) }
        }
        return try answer.get()
    }
}

extension Decision {
    /// Drives the decision for a caller that may wait: not on a reactor.
    package consuming func run(at moment: Moment, asking waiting: WaitingStore) async -> Outcome {
        var decision = self
        var (answer, now): (Result<StoreAnswer, KeyRegistryError>?, Moment) = (nil, moment)
        while true {
            switch decision.next(answer, at: now) {
            case .decided(let outcome): return outcome
            case .ask(let question, let store):
                do throws(KeyRegistryError) {
                    answer = .success(try await waiting.answer(question, of: store, at: moment))
                } catch {
                    answer = .failure(error)
                }
                now = store.now(after: moment)
            }
        }
    }
}
