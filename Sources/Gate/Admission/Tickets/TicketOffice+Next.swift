package import KeyStore
import Synchronization
import WireText

/// The next tickets of sessions. They are for clients that have lost their sessions, perhaps together with this
/// process: so each is valid for as long as its session would be kept, and a store keeps it.
extension TicketOffice {
    /// The upper limit of a next ticket's lifetime: twice the longest `RESUME_GRACE_MINUTES`.
    package static let longestNextLifetime: Duration = .seconds(2 * 1_440 * 60)

    /// Next tickets are issued by the calls that answer later.
    var keepsNext: Bool { keeper != nil && nextLifetime != nil }

    var keeper: (any NextTicketKeeper)? { place.keeper }

    /// By the clock of the store that has the tickets.
    func time(at moment: Moment) -> Int64 { keeper?.time(at: moment) ?? moment.unixMilliseconds }

    /// Makes the next ticket of a session.
    ///
    /// - Parameter id: of the session. With one of its tickets all are used; they end soon after it:
    ///   ``end(session:keepingTickets:at:)``.
    func makeNext(
        for principal: Principal, ofSession id: String, from address: IPAddress, carriedBy carrier: PrincipalCarrier,
        at moment: Moment
    ) -> TicketIssueSteps.Made {
        guard let keeper, let lifetime = nextLifetime else {
            return make(for: principal, from: address, carriedBy: carrier, at: moment)
        }
        let time = moment.monotonic
        guard let entry = entry(for: principal, from: address, lifetime: lifetime, at: time) else {
            return .decided(.chainEnded)
        }
        let (ticket, mark) = (Ticket(), Self.mark(ofSession: id))
        let hash = TicketHash(ticket)
        guard let content = content(of: entry, principal, mark, carrier, keeper.time(at: moment), at: time),
            let kept = keeper.seal(content, as: hash, at: moment)
        else { return make(for: principal, from: address, carriedBy: carrier, at: moment) }
        var isNew = false
        switch sessions.withLock({ $0.renew(entry, for: mark, at: time) }) {
        case .full(let seconds): return .decided(.full(retryAfter: min(seconds, Self.longestRetrySeconds)))
        case .added: isNew = true
        case .renewed: break
        }
        let expiresIn = Int(entry.expires.milliseconds(since: time) / 1_000)
        let issued = IssuedTicket(ticket: ticket, id: entry.id, expiresIn: expiresIn)
        return .kept(
            by: TicketQuestion(.keepNext(kept)), MadeTicket(issued: issued, entry: .session(mark, isNew: isNew)))
    }

    /// Issues the next ticket of a session whose client has been checked. The answer comes on any thread, once.
    func issueNext(
        to principal: Principal, ofSession id: String, from address: IPAddress, carriedBy carrier: PrincipalCarrier,
        at moment: Moment, then: @escaping @Sendable (TicketIssue) -> Void
    ) {
        let steps = TicketIssueSteps(self) { [self] in
            makeNext(for: principal, ofSession: id, from: address, carriedBy: carrier, at: $0)
        }
        run(steps, at: moment, then: then)
    }

    func forgetSession(_ mark: TicketHash) { sessions.withLock { $0.withdraw(mark) } }

    /// Asks whoever keeps next tickets.
    func keepNext(
        _ ticket: KeptTicket, at moment: Moment,
        then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void
    ) {
        guard let keeper else { return then(.failure(.unavailable("no store keeps tickets"))) }
        keeper.keep(ticket, at: moment, then: then)
    }

    private func content(
        of entry: TicketTable.Entry, _ principal: Principal, _ mark: TicketHash, _ carrier: PrincipalCarrier,
        _ now: Int64, at time: MonotonicTime
    ) -> TicketContent? {
        carrier.carry(principal).map { holder in
            TicketContent(
                id: entry.id, holder: holder, route: entry.identity.method.route,
                expires: now + Int64(clamping: entry.expires.milliseconds(since: time)),
                chainEnd: now + Int64(clamping: entry.chainEnd.milliseconds(since: time)), session: mark.carried,
                isShared: entry.isShared, isOnlyByName: entry.identity.method.isOnlyByName)
        }
    }

    /// A session has ended. Its tickets stay valid for ``timeToLive``, for a page that is loaded again.
    ///
    /// - Parameter keepingTickets: for as long as they were issued for: its client has lost it without wanting to, as
    ///   it would with the process.
    package func end(session id: String, keepingTickets: Bool, at moment: Moment) {
        guard !keepingTickets, let keeper else { return }
        let mark = Self.mark(ofSession: id)
        let expires = moment.monotonic.advanced(by: timeToLive)
        sessions.withLock { $0.shorten(mark, to: expires) }
        guard let session = SessionMark(bytes: mark.carried) else { return }
        keeper.shorten(ofSession: session, to: keeper.time(at: moment) + Int64(clamping: timeToLive.wholeMilliseconds))
    }

    /// For the process that replaces this one, where no store has them: as tickets that are good for as long.
    package func carriedNext(at moment: Moment) -> [CarriedTicket] {
        guard case .tableAndStore(let local) = place else { return [] }
        let time = moment.monotonic
        return local.store.volatileTickets.compactMap { ticket in
            guard let content = LocalTickets.content(of: ticket) else { return nil }
            func here(_ end: Int64) -> MonotonicTime {
                time.advanced(by: .milliseconds(max(0, end - moment.unixMilliseconds)))
            }
            return CarriedTicket(
                hash: ticket.hash, id: content.id, holder: content.holder, address: nil, expires: here(ticket.expires),
                chainEnd: here(content.chainEnd), uses: 1, isShared: content.isShared)
        }
    }

    /// They were used.
    func forget(session mark: [UInt8]?) {
        guard let mark = mark.flatMap({ TicketHash(carried: $0) }) else { return }
        forgetSession(mark)
    }

    /// The SHA-256 of a session's id, by which the store knows it.
    private static func mark(ofSession id: String) -> TicketHash { TicketHash(digestOf: id) }

    /// Whether what a store has kept as a session's next ticket is one.
    package static func isNextTicket(_ ticket: KeptTicket) -> Bool { LocalTickets.content(of: ticket) != nil }
}
