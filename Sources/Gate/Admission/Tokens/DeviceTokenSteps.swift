import AppAttest
import DPoP
import KeyStore

/// An assertion as a client of the token dialect presents it.
struct SignedAssertion: Sendable {
    let id: KeyID
    /// That the client claims.
    let app: AppID
    let nonce: String
    let object: [UInt8]
    /// The device key, which the assertion is bound to.
    let key: PublicJWK
}

/// Whether an attested device gets a token: its key, then its challenge and its proof of possession, which use nothing
/// up, then the signature; and then what is used up: proof, challenge, counter.
struct DeviceTokenSteps: DecisionSteps {
    private let assertion: SignedAssertion
    private let proof: UnspentProof
    private let settings: TokenSettings
    private let check: AssertionCheck
    private let began: Moment
    private var signed: AssertionCheck.Signed?
    private var spentProof: VerifiedProof?

    init(
        _ assertion: SignedAssertion, _ proof: UnspentProof, _ settings: TokenSettings, _ devices: AppAttestSettings,
        at moment: Moment
    ) {
        self.assertion = assertion
        self.proof = proof
        self.settings = settings
        check = AssertionCheck(settings: devices, id: assertion.id)
        began = moment
    }

    mutating func next(_ answer: StoreAnswer?, at moment: Moment) -> Step<Result<VerifiedProof, RefusedRequest>> {
        do throws(RefusedRequest) {
            switch (answer, signed, spentProof) {
            case (nil, _, _): return ask(check.question)
            case (.standing(let standing, let counter), nil, _): return try verify(standing, above: counter)
            case (.spend(let spending), let signed?, nil): return try spendChallenge(of: signed, by: spending)
            case (.admit(let spending), let signed?, let spentProof?):
                try inTokenDialect { () throws(AssertionFault) in try check.conclude(spending, signed) }
                return .decided(.success(spentProof))
            default: wrongAnswer(answer)
            }
        } catch {
            return .decided(.failure(error))
        }
    }

    private func ask(_ question: StoreQuestion) -> Step<Result<VerifiedProof, RefusedRequest>> {
        .ask(question, of: settings.store)
    }

    private mutating func verify(
        _ standing: KeyStanding?, above counter: UInt32
    ) throws(RefusedRequest) -> Step<Result<VerifiedProof, RefusedRequest>> {
        let key = try inTokenDialect { () throws(AssertionFault) in try check.accept(standing, above: counter) }
        let open = try check.settings.challenges.examine(assertion.nonce, for: .token, at: began.monotonic)
            .openInTokenDialect()
        try settings.refuseUsed(proof, at: .token, in: began, freshBy: .challenge)
        let signed = try inTokenDialect { () throws(AssertionFault) in
            try check.verify(assertion.object, over: open.clientDataHash(binding: assertion.key), by: key)
        }
        try refuseOtherApp(than: signed.app)
        self.signed = signed
        let (own, claim) = settings.claim(proof, at: .token, began, freshBy: .challenge)
        return own == .spent ? ask(.spend(claim)) : try spendChallenge(of: signed, by: own)
    }

    /// Only the key's holder is told which app it was attested for.
    private func refuseOtherApp(than app: AppID) throws(RefusedRequest) {
        guard app != assertion.app else { return }
        throw RefusedRequest(
            .token(
                .attestationFailed, detail: "key was attested for another app",
                reason: app.reason(named: assertion.app),
                failed: FailedCheck(
                    .claimedApp, expected: "\(app), for which the key was attested",
                    received: "\(assertion.app) in the request")))
    }

    private mutating func spendChallenge(
        of signed: AssertionCheck.Signed, by spending: ReplaySpending
    ) throws(RefusedRequest) -> Step<Result<VerifiedProof, RefusedRequest>> {
        spentProof = try settings.conclude(proof, by: spending.found(with: .challenge), in: began)
        let challenge = try check.settings.challenges.spend(assertion.nonce, for: .token, at: began.monotonic)
            .spentInTokenDialect()
        return ask(check.use(signed, of: challenge))
    }

    private func inTokenDialect<Value>(
        _ body: () throws(AssertionFault) -> Value
    ) throws(RefusedRequest) -> Value {
        do throws(AssertionFault) { return try body() } catch { throw RefusedRequest(error.tokenRefusal) }
    }
}

extension Decision {
    /// Drives the decision for a caller that may wait: not on a reactor. Keys are asked for in the part of their store
    /// that waits.
    consuming func run(at moment: Moment, asking registry: any KeyRegistry) async -> Outcome {
        var decision = self
        var (answer, now): (Result<StoreAnswer, KeyRegistryError>?, Moment) = (nil, moment)
        while true {
            switch decision.next(answer, at: now) {
            case .decided(let outcome): return outcome
            case .ask(let question, let store):
                do throws(KeyRegistryError) {
                    answer = .success(try await store.answer(question, from: registry, at: moment))
                } catch {
                    answer = .failure(error)
                }
                now = store.now(after: moment)
            }
        }
    }
}

extension GateStore {
    fileprivate func answer(
        _ question: StoreQuestion, from registry: any KeyRegistry, at moment: Moment
    ) async throws(KeyRegistryError) -> StoreAnswer {
        switch (question, devices) {
        case (.standing(let id, _), .immediate):
            let standing = try await registry.standing(of: id)
            return .standing(standing, counter: standing?.counter ?? 0)
        // The store alone compares counters.
        case (.standing(let id, _), _): return .standing(try await registry.standing(of: id), counter: 0)
        case (.admit(let claim), .immediate):
            let advance = try await registry.use(claim.use, of: claim.key, at: moment.unixMilliseconds)
            return .admit(advance == .advanced ? .admitted : .notAdvanced(advance))
        default: return try await Fleet.answer { answer(question, at: moment, then: $0) }
        }
    }
}
