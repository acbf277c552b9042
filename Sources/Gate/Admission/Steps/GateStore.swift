import DPoP
package import KeyStore

/// Where the questions of decisions are answered: by the store of a gateway that is alone, which answers at once and on
/// the caller's stack, or by one that several gateways share, which answers later.
package struct GateStore: Sendable {
    /// `nil`: there are no keys.
    package var devices: DeviceRegistry?
    /// `nil`: development tokens are off.
    package var development: (any DevelopmentTokenRegistry & ImmediateDevelopmentTokenRegistry)?
    /// `nil`: there are no accounts.
    var accounts: AccountRegistry?
    /// Of a gateway without devices.
    var shared: Fleet?
    /// `nil`: no store has tickets.
    var tickets: TicketOffice?

    package init(
        devices: DeviceRegistry? = nil,
        development: (any DevelopmentTokenRegistry & ImmediateDevelopmentTokenRegistry)? = nil,
        tickets: TicketOffice? = nil, accounts: AccountRegistry? = nil
    ) {
        self.accounts = accounts
        self.devices = devices
        self.development = development
        self.tickets = tickets
    }

    var fleet: Fleet? {
        if case .shared(let fleet) = devices { return fleet }
        if case .fleet(let tickets) = tickets?.place { return shared ?? tickets.fleet }
        return shared
    }

    /// The time of an answer to a question of an earlier moment.
    func now(after moment: Moment) -> Moment { fleet?.now?() ?? moment }

    /// The life of replay stores, by the wall clock of a moment: their own, or in a fleet of what all have in common.
    func life(of replays: ProofReplays, at moment: Moment) -> ReplayLife {
        fleet?.identity.replayLife(at: moment) ?? replays.life(at: moment)
    }

    // MARK: At once

    /// - Returns: `nil` if the answer takes time: then ``answer(_:at:then:)`` has it.
    func answerAtOnce(_ question: StoreQuestion, at moment: Moment) throws(KeyRegistryError) -> StoreAnswer? {
        switch question {
        case .standing(let id, _): return try standing(of: id, at: moment)
        case .admit(let claim): return try admit(claim, at: moment)
        case .spend:
            // This gateway's own replay store has found it unused, and there is no other one.
            return fleet == nil ? .spend(.spent) : nil
        case .confirm(let use):
            guard fleet != nil else { return .confirm(.spent) }
            return use == nil ? .confirm(.foreign) : nil
        case .grant(let id):
            return .grant(
                try development?.status(ofGrant: id, at: moment.unixMilliseconds) ?? .refused(.unknown))
        case .account(let id, let credential): return try account(id, with: credential, at: moment)
        case .trying(let question):
            do throws(KeyRegistryError) { return try answerAtOnce(question, at: moment) } catch {
                return .failed(error)
            }
        case .ticket, .own, .redeem, .attestation, .enrol, .use, .beginErasure, .passkey, .signIn, .refresh:
            return nil
        }
    }

    private func account(
        _ id: AccountID, with credential: AccountCredential, at moment: Moment
    ) throws(KeyRegistryError) -> StoreAnswer? {
        switch accounts {
        case nil: return .account(nil)
        case .immediate(let registry): return .account(try registry.standing(ofAccount: id))
        case .shared(let standings):
            guard let known = standings.current(of: id, at: moment.monotonic), credential.problem(in: known) == nil
            else { return nil }
            return .account(known)
        }
    }

    private func standing(of id: KeyID, at moment: Moment) throws(KeyRegistryError) -> StoreAnswer? {
        switch devices {
        case nil: return .standing(nil, counter: 0)
        case .immediate(let registry):
            let standing = try registry.standing(of: id)
            return .standing(standing, counter: standing?.counter ?? 0)
        case .shared(let fleet):
            return fleet.standings.current(of: id, at: moment.monotonic).map { .standing($0, counter: 0) }
        }
    }

    private func admit(_ claim: AssertionClaim, at moment: Moment) throws(KeyRegistryError) -> StoreAnswer? {
        switch devices {
        case nil: return .admit(.notAdvanced(.unknownKey))
        case .immediate(let registry):
            let advance = try registry.use(claim.use, of: claim.key, at: moment.unixMilliseconds)
            return .admit(advance == .advanced ? .admitted : .notAdvanced(advance))
        case .shared: return nil
        }
    }

    /// For a caller that can't wait: from what this gateway knows of the store. If that is too little, the store is
    /// asked, so that the next call finds it.
    func knownAnswer(_ question: StoreQuestion, at moment: Moment) throws(KeyRegistryError) -> StoreAnswer {
        if let answer = try answerAtOnce(question, at: moment) { return answer }
        if case .account(let id, _) = question, case .shared(let standings) = accounts {
            return .account(try standings.standing(of: id, at: moment.monotonic))
        }
        guard case .standing(let id, _) = question, case .shared(let fleet) = devices else {
            throw .unavailable("the store doesn't answer at once")
        }
        return .standing(try fleet.standings.standing(of: id, at: moment.monotonic), counter: 0)
    }

    // MARK: Later

    /// - Parameters:
    ///   - moment: of the decision's beginning.
    ///   - then: called once, on any thread. On one that may compute, if a signature is to be verified.
    func answer(
        _ question: StoreQuestion, at moment: Moment,
        then: @escaping @Sendable (Result<StoreAnswer, KeyRegistryError>) -> Void
    ) {
        do throws(KeyRegistryError) {
            if let answer = try answerAtOnce(question, at: moment) { return then(.success(answer)) }
        } catch { return then(.failure(error)) }
        switch (question, fleet, tickets) {
        case (.own(let ask), _, _): ask { then($0.map(StoreAnswer.own)) }
        case (.account(let id, _), _, _): answerAccount(id, at: moment, then: then)
        case (.trying(let question), _, _): answer(question, at: moment) { then(.success($0.orFailed)) }
        case (.ticket(let question), _, let tickets?):
            tickets.answer(question, at: moment) { then($0.map(StoreAnswer.ticket)) }
        case (.passkey, _, _), (.signIn, _, _), (.refresh, _, _):
            then(.failure(.unavailable("the question is for callers that may wait")))
        case (_, let fleet?, _): fleet.answer(question, at: moment.monotonic, then: then)
        default: then(.failure(.unavailable("there is no store for the question")))
        }
    }

    /// What is known doesn't have the credential: it may be from before that was made.
    private func answerAccount(
        _ id: AccountID, at moment: Moment, then: @escaping @Sendable (Result<StoreAnswer, KeyRegistryError>) -> Void
    ) {
        guard case .shared(let standings) = accounts else { return then(.success(.account(nil))) }
        standings.forget(id)
        standings.load(id, at: moment.monotonic) { then($0.map(StoreAnswer.account)) }
    }
}

extension Fleet {
    fileprivate func answer(
        _ question: StoreQuestion, at time: MonotonicTime,
        then: @escaping @Sendable (Result<StoreAnswer, KeyRegistryError>) -> Void
    ) {
        switch question {
        case .standing(let id, let use): answerStanding(of: id, for: use, at: time, then: then)
        case .admit(let claim):
            guard let challenge = claim.challenge else { return then(.success(.admit(.refused(.foreign)))) }
            admit(challenge, by: claim.key, claim.use, at: time) { then($0.map(StoreAnswer.admit)) }
        case .spend(let claim):
            spend(claim, at: time) { then($0.map(StoreAnswer.spend)) }
        case .confirm(let use):
            guard let use else { return then(.success(.confirm(.foreign))) }
            spend(use, at: time) { then($0.map(StoreAnswer.confirm)) }
        case .redeem, .attestation, .enrol, .use, .beginErasure:
            then(.failure(.unavailable("the question is for one who may wait")))
        case .grant, .ticket, .own, .trying, .account, .passkey, .signIn, .refresh:
            preconditionFailure("These are answered elsewhere.")
        }
    }

    /// Asks the store for a standing that this gateway doesn't know.
    fileprivate func answerStanding(
        of id: KeyID, for use: StandingUse, at time: MonotonicTime,
        then: @escaping @Sendable (Result<StoreAnswer, KeyRegistryError>) -> Void
    ) {
        standings.load(id, at: time) { [self] loaded in
            let answer: @Sendable () -> Result<StoreAnswer, KeyRegistryError> = {
                guard use != .assertion else { return loaded.map { .standing($0, counter: 0) } }
                // The store isn't asked again: what it said before a change isn't enough.
                return Result { () throws(KeyRegistryError) in
                    .standing(try self.standings.standing(of: id, at: time), counter: 0)
                }
            }
            guard use.verifiesSignature else { return then(answer()) }
            // Without a key there is no signature to verify, and strangers name any number of keys.
            if use == .assertion, (try? loaded.get()) == nil { return then(answer()) }
            // Not on the store's thread, which all answers wait for.
            if !compute({ then(answer()) }) { then(.failure(.queueFull)) }
        }
    }
}

extension Result<StoreAnswer, KeyRegistryError> {
    /// The answer to ``StoreQuestion/trying(_:)``.
    var orFailed: StoreAnswer {
        switch self {
        case .success(let answer): answer
        case .failure(let error): .failed(error)
        }
    }
}
