package import KeyStore
import WireText

/// Tickets in a fleet: the store has them, and this gateway's table only counts those that it has issued, for the
/// limits. Each answer comes on any thread, once.
extension TicketOffice {
    /// Makes a ticket for one upgrade by this principal, as ``issue(to:from:at:)``, for a gateway alone and in a fleet.
    func make(
        for principal: Principal, from address: IPAddress, carriedBy carrier: PrincipalCarrier, at moment: Moment
    ) -> TicketIssueSteps.Made {
        guard case .fleet(let tickets) = place else {
            return .decided(issue(to: principal, from: address, at: moment.monotonic))
        }
        guard let entry = entry(for: principal, from: address, at: moment.monotonic) else {
            return .decided(.chainEnded)
        }
        guard let holder = carrier.carry(principal) else {
            return .decided(.refused(Refusal(.invalidTicket, detail: "the client's proof can't be kept in a ticket")))
        }
        return make(entry, of: holder, principal.proof, for: tickets, at: moment.monotonic)
    }

    /// The same as ``issueForOperator(timeToLive:uses:at:)``, for a gateway alone and in a fleet.
    package func issueForOperator(
        timeToLive: Duration, uses: Int, proves account: AccountID? = nil, at moment: Moment,
        then: @escaping @Sendable (TicketIssue) -> Void
    ) {
        let steps = TicketIssueSteps(self) { [self] moment in
            guard case .fleet(let tickets) = place else {
                return .decided(
                    issueForOperator(timeToLive: timeToLive, uses: uses, proves: account, at: moment.monotonic))
            }
            let entry = operatorEntry(timeToLive: timeToLive, uses: uses, proves: account, at: moment.monotonic)
            return make(entry, of: nil, nil, for: tickets, at: moment.monotonic)
        }
        run(steps, at: moment, then: then)
    }

    private func make(
        _ entry: TicketTable.Entry, of holder: CarriedPrincipal?, _ proof: (any AdmissionProof)?,
        for tickets: FleetTickets, at time: MonotonicTime
    ) -> TicketIssueSteps.Made {
        let issue = insert(entry, proof: proof, at: time)
        guard case .issued(let issued) = issue else { return .decided(issue) }
        let now = tickets.fleet.identity.time(at: time)
        let content = TicketContent(
            id: entry.id, holder: entry.account == nil ? holder : .ofAccountTicket(entry.id),
            route: entry.identity.method.route,
            expires: now + Int64(clamping: entry.expires.milliseconds(since: time)),
            chainEnd: now + Int64(clamping: entry.chainEnd.milliseconds(since: time)), isShared: entry.isShared,
            account: entry.account, isOnlyByName: entry.identity.method.isOnlyByName)
        let question = TicketQuestion(.keep(content, uses: entry.uses, TicketHash(issued.ticket)))
        return .kept(by: question, MadeTicket(issued: issued, entry: .ticket))
    }
}
