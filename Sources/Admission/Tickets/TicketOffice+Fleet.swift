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
        let content = TicketContent(
            id: entry.id, holder: holder, route: entry.identity.method.route,
            expires: now + Int64(clamping: entry.expires.milliseconds(since: time)),
            chainEnd: now + Int64(clamping: entry.chainEnd.milliseconds(since: time)), isShared: entry.isShared)
        tickets.keep(content, uses: entry.uses, as: TicketHash(issued.ticket), at: time) { result in
            let outcome = Self.outcome(result, of: issued)
            if case .issued = outcome {} else { self.forget(TicketHash(issued.ticket)) }
            then(outcome)
        }
    }

    static func outcome(
        _ kept: Result<MarkSpending, KeyRegistryError>, of issued: IssuedTicket
    ) -> TicketIssue {
        switch kept {
        case .success(.spent): .issued(issued)
        case .success(.full): .full(retryAfter: 1)
        case .success: .refused(Refusal(.storeUnavailable, detail: "the store has been replaced", retryAfter: 1))
        case .failure(let error): .refused(Refusal(.storeUnavailable, detail: "\(error)", retryAfter: 1))
        }
    }
}
