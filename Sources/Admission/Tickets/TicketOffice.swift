import Synchronization

/// Issues tickets and takes them back. Shared by all reactors.
///
/// A browser can't set headers on an upgrade. So a client that has shown credentials to the gate may request a ticket, and bring it in the
/// URL. Tickets belong to this process and are gone when it ends.
package final class TicketOffice: Sendable {
    /// `TICKET_TTL_SECONDS`.
    package static let defaultTimeToLive: Duration = .seconds(30)
    /// `MAX_TICKETS`.
    package static let defaultMaximum = 10_000
    /// Valid tickets of one identity, and of the operator: no client can use up the room of all others.
    package static let maximumPerHolder = 64
    /// Identities with valid tickets whose proofs take kilobytes, as the chain of a client certificate does.
    package static let maximumLargeProofs = 512
    /// Longer than this no ticket lives, whatever is asked for.
    package static let longestTimeToLive: Duration = .seconds(30 * 86_400)
    package static let maximumUses = 10_000
    package static let longestChain: Duration = .seconds(86_400)

    private let timeToLive: Duration
    private let table: Mutex<TicketTable>

    package init(timeToLive: Duration = defaultTimeToLive, maximum: Int = defaultMaximum) {
        self.timeToLive = min(timeToLive, Self.longestTimeToLive)
        table = Mutex(
            TicketTable(
                maximum: maximum, maximumPerHolder: Self.maximumPerHolder,
                maximumLargeProofs: Self.maximumLargeProofs))
    }

    /// A ticket for one upgrade, which will be this principal's. The caller has checked the principal's proof: see
    /// ``Gate/issueTicket(to:from:at:)``.
    ///
    /// A client that came by a ticket gets another, so that reconnecting works, but only for a time: after ``longestChain`` the credentials
    /// have to be shown again.
    func issue(to principal: Principal, at time: MonotonicTime) -> TicketIssue {
        let chainEnd = principal.ticketChainEnd ?? time.advanced(by: Self.longestChain)
        guard time < chainEnd else { return .chainEnded }
        let expires = min(time.advanced(by: timeToLive), chainEnd)
        return issue(
            TicketTable.Entry(
                id: TicketID(), holder: .identity(principal.identity), expires: expires, chainEnd: chainEnd,
                secret: principal.secret, uses: 1),
            proof: principal.proof, at: time)
    }

    /// A ticket that the operator gives away. Each upgrade with it has the ticket's own identity.
    ///
    /// - Parameter timeToLive: clamped to ``longestTimeToLive``.
    /// - Parameter uses: clamped to 1 … ``maximumUses``.
    package func issueForOperator(timeToLive: Duration, uses: Int, at time: MonotonicTime) -> TicketIssue {
        let expires = time.advanced(by: min(timeToLive, Self.longestTimeToLive))
        return issue(
            TicketTable.Entry(
                id: TicketID(), holder: .operator, expires: expires,
                chainEnd: expires.advanced(by: Self.longestChain), secret: nil,
                uses: min(max(uses, 1), Self.maximumUses)),
            proof: nil, at: time)
    }

    private func issue(
        _ entry: TicketTable.Entry, proof: (any AdmissionProof)?, at time: MonotonicTime
    ) -> TicketIssue {
        let ticket = Ticket()
        let hash = TicketHash(ticket)
        if let seconds = table.withLock({ $0.insert(entry, proof, for: hash, at: time) }) {
            return .full(retryAfter: seconds)
        }
        let expiresIn = Int(entry.expires.milliseconds(since: time) / 1_000)
        return .issued(IssuedTicket(ticket: ticket, id: entry.id, expiresIn: expiresIn))
    }

    /// Forgets a ticket that its client wasn't sent.
    package func withdraw(_ issued: IssuedTicket) {
        table.withLock { $0.withdraw(TicketHash(issued.ticket)) }
    }

    /// One atomic step: of any number of callers with the same ticket as many get `.spent` as it has uses.
    ///
    /// - Parameter text: as the client sent it.
    /// - Parameter isAllowed: asked before a use is taken; it must not call the office.
    func spend(_ text: String, at time: MonotonicTime, isAllowed: (Identity) -> Bool = { _ in true })
        -> TicketSpending
    {
        guard let hash = TicketHash(text) else { return .unknown }
        return table.withLock { $0.spend(hash, at: time, isAllowed: isAllowed) }
    }

    /// Valid tickets; for metrics.
    package var count: Int { table.withLock { $0.count } }
}

package enum TicketIssue: Sendable {
    case issued(IssuedTicket)
    /// Too many are valid: `MAX_TICKETS`, of this identity, or with large proofs. Worth another try after this many seconds.
    case full(retryAfter: Int)
    /// ``TicketOffice/longestChain`` is over for this client, which came by a ticket.
    case chainEnded
    /// The principal's proof doesn't hold any more, or whether it does can't be decided.
    case refused(Refusal)
}

package struct IssuedTicket: Sendable {
    package let ticket: Ticket
    /// For logs.
    package let id: TicketID
    /// Seconds.
    package let expiresIn: Int
}
