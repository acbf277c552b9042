import KeyStore

extension Verification {
    static var unknownTicket: Verification {
        .refused(.invalidTicket, "ticket is malformed, from another process, or used up")
    }
    static var ticketNotAllowed: Verification {
        .refused(.wayNotAllowed, "the route doesn't allow the method of the ticket's holder")
    }
}

/// Spends a ticket of a fleet: takes one use of it out of the store, so that the gateways together spend it as often as
/// it was issued for. A use that the route refuses is put back before the answer.
struct FleetTicketSteps: DecisionSteps {
    private let hash: TicketHash
    private let request: AdmissionRequest
    private let office: TicketOffice
    /// What is decided when the store has taken back what was too much.
    private var outcome: Verification?

    init(_ hash: TicketHash, _ request: AdmissionRequest, _ office: TicketOffice) {
        self.hash = hash
        self.request = request
        self.office = office
    }

    mutating func next(_ answer: StoreAnswer?, at moment: Moment) -> Step<Verification> {
        guard let answer else { return ask(.take(hash)) }
        guard case .ticket(let answer) = answer else { wrongAnswer(answer) }
        switch (answer.kind, outcome) {
        case (.taken(let taken?), _): return use(taken)
        case (.taken(nil), _): return .decided(.unknownTicket)
        case (.putBack, let outcome?): return .decided(outcome)
        default: wrongAnswer(.ticket(answer))
        }
    }

    private func ask(_ step: TicketQuestion.Step) -> Step<Verification> {
        .ask(.ticket(TicketQuestion(step)), of: GateStore(tickets: office))
    }

    private mutating func use(_ taken: FleetTickets.Taken) -> Step<Verification> {
        guard request.allows(taken.content) else {
            outcome = .ticketNotAllowed
            return ask(.giveBack(taken))
        }
        if taken.isLast { office.forget(hash) }
        office.forget(session: taken.content.session)
        let held = Verification.held(HeldTicket(taken.content))
        guard taken.content.uses > 1 else { return .decided(held) }
        outcome = held
        return ask(.keepRest(taken, hash))
    }
}

/// Uses the next ticket of a session of this process or of one before. It is used when that is on the disk; one that
/// the route refuses stays.
struct KeptTicketSteps: DecisionSteps {
    private let hash: TicketHash
    private let request: AdmissionRequest
    private let office: TicketOffice
    private var content: TicketContent?

    init(_ hash: TicketHash, _ request: AdmissionRequest, _ office: TicketOffice) {
        self.hash = hash
        self.request = request
        self.office = office
    }

    mutating func next(_ answer: StoreAnswer?, at moment: Moment) -> Step<Verification> {
        guard let answer else { return ask(.find(hash)) }
        guard case .ticket(let answer) = answer else { wrongAnswer(answer) }
        switch (answer.kind, content) {
        case (.found(nil), _), (.used(false), _): return .decided(.unknownTicket)
        case (.found(let content?), _):
            guard request.allows(content) else { return .decided(.ticketNotAllowed) }
            self.content = content
            return ask(.use(hash))
        case (.used(true), let content?):
            office.forget(session: content.session)
            return .decided(.held(HeldTicket(content)))
        default: wrongAnswer(.ticket(answer))
        }
    }

    private func ask(_ step: TicketQuestion.Step) -> Step<Verification> {
        .ask(.ticket(TicketQuestion(step)), of: GateStore(tickets: office))
    }
}
