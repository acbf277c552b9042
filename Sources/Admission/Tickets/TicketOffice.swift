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
    /// Certificates that tickets are out for at once: each is kept with its chain.
    package static let maximumCertificates = 512
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
                maximumCertificates: Self.maximumCertificates))
    }

    /// A ticket for one upgrade, which will be this principal's. Whoever calls has checked the principal's proof: see
    /// ``Gate/issueTicket(to:from:at:)``.
    ///
    /// One who came in by a ticket gets another, so that reconnecting works, but not for ever: after ``longestChain`` the credentials
    /// have to be shown again.
    func issue(to principal: Principal, at time: MonotonicTime) -> TicketIssue {
        let chainEnd = principal.ticketChainEnd ?? time.advanced(by: Self.longestChain)
        guard time < chainEnd else { return .chainEnded }
        let expires = min(time.advanced(by: timeToLive), chainEnd)
        return issue(
            .principal(principal.way), expires: expires, chainEnd: chainEnd, uses: 1,
            certificate: principal.certificateChain.map {
                TicketCertificate(chain: $0, number: principal.certificateNumber)
            }, secret: principal.secret, at: time)
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
        certificate: TicketCertificate? = nil, secret: SharedSecret? = nil, at time: MonotonicTime
    ) -> TicketIssue {
        let ticket = Ticket()
        let entry = TicketTable.Entry(
            id: TicketID(), holder: holder, expires: expires, chainEnd: chainEnd, secret: secret, uses: uses)
        let hash = TicketHash(ticket)
        if let seconds = table.withLock({ $0.insert(entry, of: certificate, for: hash, at: time) }) {
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

    /// How many tickets are out; for metrics.
    package var count: Int { table.withLock { $0.count } }
}

package enum TicketIssue: Sendable {
    case issued(IssuedTicket)
    /// `MAX_TICKETS` are out, too many of this identity, or those of too many certificates. Worth another try after this many seconds.
    case full(retryAfter: Int)
    /// ``TicketOffice/longestChain`` is over for whoever came in by a ticket.
    case chainEnded
    /// The principal's proof doesn't hold any more, or whether it does can't be decided.
    case refused(Refusal)
}

/// What is kept of the certificate that tickets were given for, once for all of them.
struct TicketCertificate: Sendable {
    let chain: ClientCertificateChain
    let number: CertificateNumber?
}

package struct IssuedTicket: Sendable {
    package let ticket: Ticket
    /// For logs.
    package let id: TicketID
    /// Seconds.
    package let expiresIn: Int
}
