import KeyStore

/// Issues a ticket: the client that asks for it is checked once more, the ticket is made, and the store that has
/// tickets keeps it.
struct TicketIssueSteps: DecisionSteps {
    /// A ticket that is made.
    enum Made {
        /// Nothing is left to do.
        case decided(TicketIssue)
        /// It counts when the store has it.
        case kept(by: TicketQuestion, MadeTicket)
    }

    private let office: TicketOffice
    private let make: @Sendable (Moment) -> Made
    /// `nil`: the operator asks.
    private var recheck: RecheckSteps?
    private var made: MadeTicket?

    init(
        _ office: TicketOffice, unless recheck: RecheckSteps? = nil, make: @escaping @Sendable (Moment) -> Made
    ) {
        self.office = office
        self.recheck = recheck
        self.make = make
    }

    mutating func next(_ answer: StoreAnswer?, at moment: Moment) throws(KeyRegistryError) -> Step<TicketIssue> {
        if let made {
            guard case .ticket(let ticket) = answer, case .kept(let result) = ticket.kind else { wrongAnswer(answer) }
            return .decided(office.conclude(result, of: made))
        }
        switch try recheck?.next(answer, at: moment) {
        case .ask(let question, let store): return .ask(question, of: store)
        case .decided(let refusal?): return .decided(.refused(refusal.failing(.holder)))
        case .decided(nil), nil: break
        }
        switch make(moment) {
        case .decided(let issue): return .decided(issue)
        case .kept(let question, let made):
            self.made = made
            return .ask(.ticket(question), of: GateStore(tickets: office))
        }
    }
}

/// A ticket that is in this gateway's tables, and not yet in the store.
struct MadeTicket: Sendable {
    enum Entry: Sendable {
        /// Under its hash.
        case ticket
        /// Under that of its session, which has others.
        case session(TicketHash, isNew: Bool)
    }

    let issued: IssuedTicket
    let entry: Entry
}

extension TicketOffice {
    /// What isn't kept is forgotten here, too.
    func conclude(_ kept: Result<MarkSpending, KeyRegistryError>, of made: MadeTicket) -> TicketIssue {
        let outcome = Self.outcome(kept, of: made.issued)
        if case .issued = outcome { return outcome }
        switch made.entry {
        case .ticket: forget(TicketHash(made.issued.ticket))
        case .session(let mark, isNew: true): forgetSession(mark)
        case .session: break
        }
        return outcome
    }

    private static func outcome(
        _ kept: Result<MarkSpending, KeyRegistryError>, of issued: IssuedTicket
    ) -> TicketIssue {
        switch kept {
        case .success(.spent): .issued(issued)
        case .success(.full): .full(retryAfter: 1)
        case .success: .refused(Refusal(.storeUnavailable, detail: "the store has been replaced", retryAfter: 1))
        case .failure(let error): .refused(Refusal(.storeUnavailable, detail: "\(error)", retryAfter: 1))
        }
    }

    /// - Parameter unavailable: what a client is told if the store can't answer whether it may have a ticket.
    func run(
        _ steps: TicketIssueSteps, at moment: Moment, unavailable: @escaping @Sendable (KeyRegistryError) -> Refusal
    ) -> Progress<TicketIssue> {
        Decision(steps).run(at: moment).map { outcome in
            switch outcome {
            case .success(let issue): issue
            case .failure(let error): .refused(unavailable(error).failing(.holder))
            }
        }
    }

    /// For callers without a client.
    func run(_ steps: TicketIssueSteps, at moment: Moment, then: @escaping @Sendable (TicketIssue) -> Void) {
        run(steps, at: moment) { Refusal(.storeUnavailable, detail: "\($0)", retryAfter: 1) }.whenDecided(then)
    }
}
