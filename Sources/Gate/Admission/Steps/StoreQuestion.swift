package import AppAttest
package import DPoP
package import KeyStore

/// What a decision asks a store. Each question is one step of the store, which is atomic for all that share it.
package enum StoreQuestion: Sendable {
    /// What the store has of a key.
    case standing(KeyID, for: StandingUse)
    /// Uses an assertion up: its challenge counts as spent, and the counter of its key rises to the assertion's.
    case admit(AssertionClaim)
    /// Uses up a proof of possession that this gateway has found to be unused.
    case spend(ProofClaim)
    /// Uses a challenge up, which this gateway has found to be unused; `nil` for that of a gateway that is alone.
    case confirm(FleetUse?)
    /// Whether a development token that was redeemed earlier may still be used; by ``DevelopmentGrant/id``.
    case grant(String)
    /// What the store has of an account.
    ///
    /// - Parameter credential: that it should have; what is known of an account without it may be old.
    case account(AccountID, with: AccountCredential)
    /// A passkey, and whose it is. For callers that may wait.
    case passkey(PasskeyMark)
    /// Records the use of a passkey, and spends the mark of its challenge. For callers that may wait.
    case usePasskey(PasskeyUse, spending: (SingleUseMark, StoreIncarnation)?)
    /// Uses a refresh token, and spends the proof that came with it. For callers that may wait.
    case refresh(RefreshUse, ProofClaim)
    /// One step with a ticket.
    case ticket(TicketQuestion)
    /// A question of a method that has a store of its own. It is asked once, and answered once, on any thread.
    case own(OwnQuestion)

    // Of decisions that may wait: no store answers these at once.

    /// Redeems a development token for a device, as ``DevelopmentTokenRegistry/redeem(_:by:at:)``.
    case redeem(String, device: [UInt8])
    /// Whether an attestation is good. No store is asked, but the answer takes milliseconds.
    indirect case attestation(PresentedAttestation)
    /// Records an attested key.
    indirect case enrol(DeviceKey)
    /// Uses a counter of a key whose assertion came with a challenge that is used up already.
    case use(CounterUse, of: KeyID)
    /// Begins the erasure of a key.
    case beginErasure(KeyID)
    /// A question whose failure is an answer, because the decision says then what has failed.
    indirect case trying(StoreQuestion)

    package typealias OwnQuestion =
        @Sendable (@escaping @Sendable (Result<any Sendable, KeyRegistryError>) -> Void) -> Void
}

/// What follows an answer about a key.
package enum StandingUse: Sendable {
    /// A signature is verified, then ``StoreQuestion/admit(_:)`` asks again: the key may change in between.
    case assertion
    /// A signature is verified. The store isn't asked again.
    case token
    /// The key's holder was admitted earlier. The store isn't asked again.
    case recheck
    /// The key is recorded next, and the store decides then.
    case enrolment

    var verifiesSignature: Bool {
        switch self {
        case .assertion, .token: true
        case .recheck, .enrolment: false
        }
    }
}

/// One use of an assertion whose signature is right.
package struct AssertionClaim: Sendable {
    let key: KeyID
    let use: CounterUse
    var counter: UInt32 { use.counter }
    /// Of the challenge, where several gateways share the store; `nil` for a gateway that is alone.
    let challenge: FleetUse?
}

/// One use of a proof of possession.
package struct ProofClaim: Sendable {
    let use: ProofUse
    let endpoint: ProofEndpoint
    /// That in which the proof was found to be unused.
    let life: ReplayLife
}

/// An attestation to verify.
package struct PresentedAttestation: Sendable {
    let object: [UInt8]
    let id: KeyID
    let clientDataHash: [UInt8]
}

/// A store's answer, of the same name as its question.
package enum StoreAnswer: Sendable {
    /// - Parameter counter: a signature has to have a higher one. 0 where the store alone compares counters: what one
    ///   of several gateways knows of a counter may be old.
    case standing(KeyStanding?, counter: UInt32)
    case admit(AssertionSpending)
    case spend(ReplaySpending)
    case confirm(MarkSpending)
    case grant(GrantStatus)
    case account(AccountStanding?)
    case passkey(FoundPasskey?)
    case usePasskey(PasskeySpending)
    case refresh(RefreshOutcome)
    case ticket(TicketAnswer)
    case own(any Sendable)
    case redeem(GrantStatus)
    indirect case attestation(Result<VerifiedAttestation, AttestationError>)
    case enrol(Enrolment)
    case use(CounterAdvance)
    case beginErasure
    /// Of ``StoreQuestion/trying(_:)``.
    case failed(KeyRegistryError)
}

/// What a decision does next.
package enum Step<Outcome: Sendable>: Sendable {
    /// It waits for the answer.
    case ask(StoreQuestion, of: GateStore)
    case decided(Outcome)
}

/// The steps of a decision, as a state machine: it reads no clock, and calls no store.
package protocol DecisionSteps<Outcome>: Sendable {
    associatedtype Outcome: Sendable

    /// - Parameters:
    ///   - answer: to the last question; `nil` at first.
    ///   - moment: of this step. What has expired by then has expired for the decision, however long the store took.
    /// - Throws: if a store can't answer, never because of a client's input.
    mutating func next(_ answer: StoreAnswer?, at moment: Moment) throws(KeyRegistryError) -> Step<Outcome>
}

/// An outcome that is known already, or the steps toward it.
package struct Inquiry<Outcome: Sendable>: DecisionSteps {
    private let known: Outcome?
    private var steps: (any DecisionSteps<Outcome>)?

    private init(_ known: Outcome?, _ steps: (any DecisionSteps<Outcome>)?) {
        self.known = known
        self.steps = steps
    }

    package static func known(_ outcome: Outcome) -> Inquiry { Inquiry(outcome, nil) }

    package static func steps(_ steps: some DecisionSteps<Outcome>) -> Inquiry { Inquiry(nil, steps) }

    package mutating func next(
        _ answer: StoreAnswer?, at moment: Moment
    ) throws(KeyRegistryError) -> Step<Outcome> {
        if let known { return .decided(known) }
        guard let step = try steps?.next(answer, at: moment) else { preconditionFailure("Neither known nor asked.") }
        return step
    }
}

/// A store has answered another question than it was asked: an error of the program.
package func wrongAnswer(_ answer: StoreAnswer?) -> Never { preconditionFailure("The answer is to another question.") }
