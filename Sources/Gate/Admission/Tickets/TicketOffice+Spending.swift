import KeyStore

/// One step with a ticket that a store has.
package struct TicketQuestion: Sendable {
    enum Step: Sendable {
        // Of a fleet's store.
        case take(TicketHash)
        /// Puts one use back.
        case giveBack(FleetTickets.Taken)
        case keep(TicketContent, uses: Int, TicketHash)
        /// Keeps what a use leaves that the store doesn't count.
        case keepRest(FleetTickets.Taken, TicketHash)
        // Of the store of a gateway that is alone.
        case find(TicketHash)
        /// Durable when it is answered.
        case use(TicketHash)
        // Of whichever store keeps the next tickets of sessions.
        case keepNext(KeptTicket)
    }

    let step: Step

    init(_ step: Step) { self.step = step }
}

package struct TicketAnswer: Sendable {
    enum Kind: Sendable {
        /// `nil`: there is no such ticket, or others have taken all of its uses.
        case taken(FleetTickets.Taken?)
        /// It is there, or can't be.
        case putBack
        case found(TicketContent?)
        /// Whether there was one.
        case used(Bool)
        /// Or not; also if the store can't answer: what was made for it has to go then.
        case kept(Result<MarkSpending, KeyRegistryError>)
    }

    let kind: Kind

    init(_ kind: Kind) { self.kind = kind }
}

extension TicketOffice {
    /// Asks the store that has the tickets. The answer comes on any thread, once.
    ///
    /// - Parameter moment: of the request.
    func answer(
        _ question: TicketQuestion, at moment: Moment,
        then: @escaping @Sendable (Result<TicketAnswer, KeyRegistryError>) -> Void
    ) {
        let time = moment.monotonic
        switch (question.step, place) {
        case (.take(let hash), .fleet(let tickets)):
            tickets.take(hash, at: time) { then($0.map { TicketAnswer(.taken($0)) }) }
        case (.giveBack(let taken), .fleet(let tickets)):
            tickets.giveBack(taken, at: time) { then(.success(TicketAnswer(.putBack))) }
        case (.keepRest(let taken, let hash), .fleet(let tickets)):
            tickets.keepRest(of: taken, as: hash, at: time) { then(.success(TicketAnswer(.putBack))) }
        case (.keep(let content, let uses, let hash), .fleet(let tickets)):
            tickets.keep(content, uses: uses, as: hash, at: time) { then(.success(TicketAnswer(.kept($0)))) }
        case (.keepNext(let ticket), _): keepNext(ticket, at: moment) { then(.success(TicketAnswer(.kept($0)))) }
        case (.find(let hash), .tableAndStore(let local)):
            local.find(hash, at: moment) { then($0.map { TicketAnswer(.found($0)) }) }
        case (.use(let hash), .tableAndStore(let local)): local.use(hash) { then($0.map { TicketAnswer(.used($0)) }) }
        default: then(.failure(.unavailable("no store has tickets")))
        }
    }
}

/// A ticket that a store had, one use of which has now been taken. Only the steps of a ticket make one.
package struct HeldTicket: Sendable {
    private let content: TicketContent

    init(_ content: TicketContent) { self.content = content }

    /// - Parameter time: now, by the clock of the store's tickets and of this machine.
    func principal(by carrier: PrincipalCarrier, at time: (store: Int64, here: MonotonicTime)) throws -> Principal {
        let chainEnd = time.here.advanced(by: .milliseconds(max(0, content.chainEnd - time.store)))
        guard let holder = content.holder, content.account == nil else {
            return Principal(
                .operatorTicket(content.id, proves: content.account), proof: nil, ticketChainEnd: chainEnd,
                isOfSharedTicket: content.isShared ?? true, reclaims: content.account)
        }
        return try carrier.restore(
            CarriedPrincipal(
                identity: holder.identity, proof: holder.proof, ticketChainEnd: chainEnd, secret: holder.secret,
                isByToken: false, isOfSharedTicket: holder.isOfSharedTicket))
    }
}
