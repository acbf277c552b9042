import Synchronization

/// Issues tickets and takes them back. Shared by all reactors.
///
/// A browser can't set headers on an upgrade. So whoever has shown credentials to the gate may ask for a ticket, and bring that in the
/// URL. Tickets belong to this process and die with it.
package final class TicketOffice: Sendable {
    /// `TICKET_TTL_SECONDS`.
    package static let defaultTimeToLive: Duration = .seconds(30)
    /// `MAX_TICKETS`.
    package static let defaultMaximum = 10_000
    /// One identity, and the operator, have no more than this out at once: nobody can use up all the others' room.
    package static let maximumPerHolder = 64
    /// Longer than this no ticket lives, whatever is asked for.
    package static let longestTimeToLive: Duration = .seconds(30 * 86_400)
    package static let maximumUses = 10_000
    package static let longestChain: Duration = .seconds(86_400)

    private let timeToLive: Duration
    private let table: Mutex<TicketTable>

    package init(timeToLive: Duration = defaultTimeToLive, maximum: Int = defaultMaximum) {
        self.timeToLive = min(timeToLive, Self.longestTimeToLive)
        table = Mutex(TicketTable(maximum: maximum, maximumPerHolder: Self.maximumPerHolder))
    }

    /// A ticket for one upgrade, which will be this principal's.
    ///
    /// One who came in by a ticket gets another, so that reconnecting works, but not for ever: what the first stood for may not be good
    /// any more. After ``longestChain`` the credentials have to be shown again.
    package func issue(to principal: Principal, at time: MonotonicTime) -> TicketIssue {
        let chainEnd = principal.ticketChainEnd ?? time.advanced(by: Self.longestChain)
        guard time < chainEnd else { return .chainEnded }
        let expires = min(time.advanced(by: timeToLive), chainEnd)
        return issue(
            .principal(principal.way), expires: expires, chainEnd: chainEnd, uses: 1,
            certificateNumber: principal.certificateNumber, secret: principal.secret, at: time)
    }

    /// A ticket that the operator hands to whom he likes. Each upgrade with it is the ticket's.
    ///
    /// - Parameter timeToLive: clamped to ``longestTimeToLive``.
    /// - Parameter uses: clamped to 1 … ``maximumUses``.
    package func issueForOperator(timeToLive: Duration, uses: Int, at time: MonotonicTime) -> TicketIssue {
        let expires = time.advanced(by: min(timeToLive, Self.longestTimeToLive))
        return issue(
            .bearer, expires: expires, chainEnd: expires.advanced(by: Self.longestChain),
            uses: min(max(uses, 1), Self.maximumUses), at: time)
    }

    private func issue(
        _ holder: SpentTicket.Holder, expires: MonotonicTime, chainEnd: MonotonicTime, uses: Int,
        certificateNumber: CertificateNumber? = nil, secret: SharedSecret? = nil, at time: MonotonicTime
    ) -> TicketIssue {
        let ticket = Ticket()
        let entry = TicketTable.Entry(
            id: TicketID(), holder: holder, expires: expires, chainEnd: chainEnd, certificateNumber: certificateNumber,
            secret: secret, uses: uses)
        if let seconds = table.withLock({ $0.insert(entry, for: TicketHash(ticket), at: time) }) {
            return .full(retryAfter: seconds)
        }
        return .issued(
            IssuedTicket(ticket: ticket, id: entry.id, expiresIn: Int(expires.milliseconds(since: time) / 1_000)))
    }

    /// Forgets a ticket that its holder wasn't told of.
    package func withdraw(_ issued: IssuedTicket) {
        table.withLock { $0.withdraw(TicketHash(issued.ticket)) }
    }

    /// One atomic step: of any number of callers with the same ticket as many get `.spent` as it has uses.
    ///
    /// - Parameter text: as the client sent it.
    /// - Parameter isAllowed: asked before a use is taken; it must not call the office.
    func spend(_ text: String, at time: MonotonicTime, isAllowed: (SpentTicket.Holder) -> Bool = { _ in true })
        -> TicketSpending
    {
        guard let hash = TicketHash(text) else { return .unknown }
        return table.withLock { $0.spend(hash, at: time, isAllowed: isAllowed) }
    }

    /// Forgets the tickets of certificates that have been revoked: nobody looks at the certificate again when one is shown.
    package func cancel(where isRevoked: (CertificateNumber) -> Bool) {
        table.withLock { $0.removeAll { $0.certificateNumber.map(isRevoked) ?? false } }
    }

    /// How many tickets are out; for metrics.
    package var count: Int { table.withLock { $0.count } }
}

package enum TicketIssue: Sendable {
    case issued(IssuedTicket)
    /// `MAX_TICKETS` are out, or too many of this identity. Worth another try after this many seconds.
    case full(retryAfter: Int)
    /// ``TicketOffice/longestChain`` is over for whoever came in by a ticket.
    case chainEnded
}

package struct IssuedTicket: Sendable {
    package let ticket: Ticket
    /// For logs.
    package let id: TicketID
    /// Seconds.
    package let expiresIn: Int
}
