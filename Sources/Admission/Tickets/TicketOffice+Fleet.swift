import KeyStore
import WireText

/// Tickets in a fleet: the store has them, and this gateway's table only counts those that it has issued, for the limits. Each answer comes on any thread, once.
extension TicketOffice {
    /// The same as ``issue(to:from:at:)``, for a gateway alone and in a fleet.
    func issue(
        to principal: Principal, from address: IPAddress, carriedBy carrier: PrincipalCarrier, at moment: Moment,
        then: @escaping @Sendable (TicketIssue) -> Void
    ) {
        guard let tickets else { return then(issue(to: principal, from: address, at: moment.monotonic)) }
        guard let entry = entry(for: principal, from: address, at: moment.monotonic) else { return then(.chainEnded) }
        guard let holder = carrier.carry(principal) else {
            return then(.refused(Refusal(.invalidTicket, detail: "the client's proof can't be kept in a ticket")))
        }
        keep(entry, of: holder, principal.proof, in: tickets, at: moment.monotonic, then: then)
    }

    /// The same as ``issueForOperator(timeToLive:uses:at:)``, for a gateway alone and in a fleet.
    package func issueForOperator(
        timeToLive: Duration, uses: Int, at moment: Moment, then: @escaping @Sendable (TicketIssue) -> Void
    ) {
        guard let tickets else {
            return then(issueForOperator(timeToLive: timeToLive, uses: uses, at: moment.monotonic))
        }
        let entry = operatorEntry(timeToLive: timeToLive, uses: uses, at: moment.monotonic)
        keep(entry, of: nil, nil, in: tickets, at: moment.monotonic, then: then)
    }

    private func keep(
        _ entry: TicketTable.Entry, of holder: CarriedPrincipal?, _ proof: (any AdmissionProof)?,
        in tickets: FleetTickets, at time: MonotonicTime, then: @escaping @Sendable (TicketIssue) -> Void
    ) {
        let issue = insert(entry, proof: proof, at: time)
        guard case .issued(let issued) = issue else { return then(issue) }
        let now = tickets.fleet.identity.time(at: time)
        let content = FleetTickets.Content(
            id: entry.id, holder: holder, route: entry.identity.method.route,
            expires: now + Int64(clamping: entry.expires.milliseconds(since: time)),
            chainEnd: now + Int64(clamping: entry.chainEnd.milliseconds(since: time)), isShared: entry.isShared)
        tickets.keep(content, uses: entry.uses, as: TicketHash(issued.ticket), at: time) { result in
            let outcome = Self.outcome(result, of: issued)
            if case .issued = outcome {} else { self.forget(TicketHash(issued.ticket)) }
            then(outcome)
        }
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

    /// Takes one use of a ticket out of the store, so that the gateways together spend it as often as it was issued for. A use that the route refuses is put back
    /// before the answer.
    func spend(
        _ text: String, in tickets: FleetTickets, for request: AdmissionRequest,
        then: @escaping @Sendable (Result<FleetTicketSpending, KeyRegistryError>) -> Void
    ) {
        guard let hash = TicketHash(text) else { return then(.success(.unknown)) }
        let time = request.moment.monotonic
        tickets.take(hash, at: time) { result in
            switch result {
            case .failure(let error): then(.failure(error))
            case .success(nil): then(.success(.unknown))
            case .success(let taken?): self.use(taken, hash, in: tickets, for: request) { then(.success($0)) }
            }
        }
    }

    private func use(
        _ taken: FleetTickets.Taken, _ hash: TicketHash, in tickets: FleetTickets, for request: AdmissionRequest,
        then: @escaping @Sendable (FleetTicketSpending) -> Void
    ) {
        let time = request.moment.monotonic
        guard request.allows(route: taken.content.route) else {
            return tickets.giveBack(taken, at: time) { then(.methodNotAllowed) }
        }
        if taken.isLast { forget(hash) }
        tickets.keepRest(of: taken, as: hash, at: time) { then(.spent(HeldTicket(taken.content))) }
    }
}

/// The outcome of an attempt to spend a ticket of a fleet.
enum FleetTicketSpending: Sendable {
    case spent(HeldTicket)
    /// Not of this fleet, used up, or expired: these can't be told apart.
    case unknown
    /// Valid, but the route doesn't allow its holder's method.
    case methodNotAllowed
}

/// A ticket of a fleet, one use of which has now been taken. Only ``TicketOffice`` makes one.
package struct HeldTicket: Sendable {
    private let content: FleetTickets.Content

    fileprivate init(_ content: FleetTickets.Content) { self.content = content }

    /// - Parameter time: now, in the fleet's time and in this machine's.
    func principal(by carrier: PrincipalCarrier, at time: (fleet: Int64, here: MonotonicTime)) throws -> Principal {
        let chainEnd = time.here.advanced(by: .milliseconds(max(0, content.chainEnd - time.fleet)))
        guard let holder = content.holder else {
            return Principal(
                .operatorTicket(content.id), proof: nil, ticketChainEnd: chainEnd,
                isOfSharedTicket: content.isShared ?? true)
        }
        return try carrier.restore(
            CarriedPrincipal(
                identity: holder.identity, proof: holder.proof, ticketChainEnd: chainEnd, secret: holder.secret,
                isByToken: false, isOfSharedTicket: holder.isOfSharedTicket))
    }
}
