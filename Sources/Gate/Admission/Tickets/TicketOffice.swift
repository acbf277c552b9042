package import KeyStore
import Synchronization
import WireText

/// Issues and spends tickets. Shared by all reactors.
///
/// A browser can't set headers on an upgrade. So a client that has presented credentials to the gate may request a
/// ticket and put it into the URL. Tickets belong to this process and end with it, or to its fleet
/// (`TicketOffice+Fleet`). The next tickets of sessions outlive it (`TicketOffice+Next`).
package final class TicketOffice: Sendable {
    /// `TICKET_TTL_SECONDS`.
    package static let defaultTimeToLive: Duration = .seconds(30)
    /// Valid first tickets, and, separately, sessions with next tickets.
    package static let defaultMaximum = 10_000
    /// Valid tickets of one identity at one address (IPv6: a /64), or of the operator, so that no client can use up
    /// what others need. All clients without credentials have one identity.
    package static let maximumPerHolder = 64
    /// Valid tickets of one identity at all addresses, so that no client can use up the table.
    package static let maximumPerIdentity = 1_024
    /// Clients without credentials have together at most this part of the table.
    package static let anonymousShare = 2
    /// Identities with valid tickets and large proofs, such as the chain of a client certificate.
    package static let maximumLargeProofs = 512
    /// The upper limit of a ticket's lifetime, whatever is configured or requested.
    package static let longestTimeToLive: Duration = .seconds(30 * 86_400)
    package static let maximumUses = 10_000
    package static let longestChain: Duration = .seconds(86_400)

    /// Seconds after which a session asks again for a next ticket for which there was no room, at most.
    static let longestRetrySeconds = 30

    let timeToLive: Duration
    private let table: Mutex<TicketTable>
    /// The sessions that have next tickets, each under the hash of its id: for the limits alone.
    let sessions: Mutex<TicketTable>
    let place: TicketPlace
    private let nextTickets: @Sendable () -> Duration?

    /// - Parameters:
    ///   - fleet: with one, tickets are issued and spent only by the calls that answer later.
    ///   - kept: keeps next tickets; a fleet's store does so itself.
    ///   - nextLifetime: of the next ticket of a session, which is valid as long as an ordinary one at least. It is
    ///     read at each use. `nil`: sessions aren't kept.
    package init(
        timeToLive: Duration = defaultTimeToLive, maximum: Int = defaultMaximum, fleet: Fleet? = nil,
        kept: (any KeptTicketStore)? = nil, nextLifetime: @autoclosure @escaping @Sendable () -> Duration? = nil
    ) {
        place = TicketPlace(fleet, kept)
        self.timeToLive = min(timeToLive, Self.longestTimeToLive)
        let limits = TicketTable.Limits(
            all: maximum, perAddress: Self.maximumPerHolder, perHolder: Self.maximumPerIdentity,
            anonymous: max(1, maximum / Self.anonymousShare), largeProofs: Self.maximumLargeProofs)
        table = Mutex(TicketTable(limits))
        sessions = Mutex(TicketTable(limits))
        nextTickets = nextLifetime
    }

    /// How long the next ticket of a session is valid; `nil`: sessions aren't kept, and it is an ordinary ticket, which
    /// ends with this process.
    package var nextLifetime: Duration? {
        nextTickets().map { min(max($0, timeToLive), Self.longestNextLifetime) }
    }

    /// Issues a ticket for one upgrade by this principal. The caller has checked the principal's proof: see
    /// ``Gate/issueTicket(to:from:at:)``.
    ///
    /// A client that was admitted by a ticket can get another one, so that reconnecting works, but only until
    /// ``longestChain`` has passed. Then it has to present its credentials again.
    ///
    /// - Parameter address: where the client is now.
    func issue(to principal: Principal, from address: IPAddress, at time: MonotonicTime) -> TicketIssue {
        guard place.answersAtOnce else { return Self.answersLater }
        guard let entry = entry(for: principal, from: address, at: time) else { return .chainEnded }
        return insert(entry, proof: principal.proof, at: time)
    }

    /// - Parameter lifetime: nil: ``timeToLive``.
    func entry(
        for principal: Principal, from address: IPAddress, lifetime: Duration? = nil, at time: MonotonicTime
    ) -> TicketTable.Entry? {
        let chainEnd = principal.ticketChainEnd ?? time.advanced(by: Self.longestChain)
        guard time < chainEnd else { return nil }
        return TicketTable.Entry(
            id: TicketID(), holder: .identity(principal.identity), address: address,
            expires: min(time.advanced(by: lifetime ?? timeToLive), chainEnd), chainEnd: chainEnd,
            secret: principal.secret, uses: 1, isShared: principal.isOfSharedTicket)
    }

    private static var answersLater: TicketIssue {
        .refused(Refusal(.storeUnavailable, detail: "a fleet doesn't issue tickets at once", retryAfter: 1))
    }

    /// Issues an operator's ticket. Each upgrade with it has the ticket's own identity.
    ///
    /// - Parameter timeToLive: clamped to ``longestTimeToLive``.
    /// - Parameter uses: clamped to 1 … ``maximumUses``.
    /// - Parameter account: with one, the ticket has one use and opens no session: with it a passkey is registered.
    package func issueForOperator(
        timeToLive: Duration, uses: Int, proves account: AccountID? = nil, at time: MonotonicTime
    ) -> TicketIssue {
        guard place.answersAtOnce else { return Self.answersLater }
        let entry = operatorEntry(timeToLive: timeToLive, uses: uses, proves: account, at: time)
        return insert(entry, proof: nil, at: time)
    }

    func operatorEntry(
        timeToLive: Duration, uses: Int, proves account: AccountID? = nil, at time: MonotonicTime
    ) -> TicketTable.Entry {
        let uses = account == nil ? min(max(uses, 1), Self.maximumUses) : 1
        let expires = time.advanced(by: min(timeToLive, Self.longestTimeToLive))
        return TicketTable.Entry(
            id: TicketID(), holder: .operator, address: nil, expires: expires,
            chainEnd: expires.advanced(by: Self.longestChain), secret: nil, uses: uses, isShared: uses > 1,
            account: account)
    }

    func insert(
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

    /// Forgets a ticket that was never sent to its client.
    package func withdraw(_ issued: IssuedTicket) {
        let hash = TicketHash(issued.ticket)
        forget(hash)
        keeper?.discard(hash)
    }

    /// Of this gateway's table.
    func forget(_ hash: TicketHash) { table.withLock { $0.withdraw(hash) } }

    /// Atomic: for one ticket, as many callers get `.spent` as it has uses.
    ///
    /// - Parameter text: as the client sent it.
    /// - Parameter isAllowed: called before a use is taken; it must not call the office.
    func spend(_ text: String, at time: MonotonicTime, isAllowed: (Identity) -> Bool = { _ in true })
        -> TicketSpending
    {
        guard place.answersAtOnce, let hash = TicketHash(text) else { return .unknown }
        return table.withLock { $0.spend(hash, at: time, isAllowed: isAllowed) }
    }

    /// For the process that replaces this one.
    package func carried(by carrier: PrincipalCarrier) -> [CarriedTicket] {
        table.withLock { table in
            table.carried { entry, proof in
                carrier.carry(
                    Principal(
                        entry.identity, proof: proof, ticketChainEnd: entry.chainEnd, secret: entry.secret,
                        isOfSharedTicket: entry.isShared))
            }
        }
    }

    /// Takes over a ticket of an earlier process.
    ///
    /// - Returns: whether there was room.
    package func restore(_ ticket: CarriedTicket, by carrier: PrincipalCarrier, at time: MonotonicTime) throws -> Bool {
        let holder = try ticket.holder.map { try carrier.restore($0) }
        guard let hash = TicketHash(carried: ticket.hash), ticket.uses > 0 else { throw CarriedStateFault() }
        let entry = TicketTable.Entry(
            id: ticket.id, holder: holder.map { .identity($0.identity) } ?? .operator,
            address: ticket.address.flatMap { IPAddress(text: $0) }, expires: ticket.expires, chainEnd: ticket.chainEnd,
            secret: holder?.carriedSecret, uses: min(ticket.uses, Self.maximumUses),
            isShared: ticket.isShared ?? holder?.isOfSharedTicket ?? true,
            account: holder == nil ? ticket.account : nil)
        return table.withLock { $0.insert(entry, holder?.proof, for: hash, at: time) == nil }
    }

    /// Valid tickets, and sessions that have next ones; for metrics.
    package var count: Int { table.withLock { $0.count } + sessions.withLock { $0.count } }
}

package enum TicketIssue: Sendable {
    case issued(IssuedTicket)
    /// The limit is reached for all tickets (``defaultMaximum``), this identity here or everywhere, clients without
    /// credentials, or large proofs. Retry after this many seconds.
    case full(retryAfter: Int)
    /// The client was admitted by a ticket, and its ``TicketOffice/longestChain`` has passed.
    case chainEnded
    /// The principal's proof is no longer valid, or its validity can't be determined.
    case refused(Refusal)
}

package struct IssuedTicket: Sendable {
    package let ticket: Ticket
    /// For logs.
    package let id: TicketID
    /// Seconds.
    package let expiresIn: Int
}
