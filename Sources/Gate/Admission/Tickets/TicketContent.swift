import KeyStore
import StateCoding

/// What a ticket in a store stands for. Its times are Unix milliseconds, by the clock of whoever keeps it.
struct TicketContent: Codable, Sendable {
    let id: TicketID
    /// `nil`: the operator issued it.
    let holder: CarriedPrincipal?
    /// The name of the holder's method in routes.
    let route: String?
    let expires: Int64
    let chainEnd: Int64
    /// More than one only if a program has kept it that doesn't leave the counting to the store. Then the store has one
    /// use, and whoever takes it keeps the rest.
    var uses = 1
    /// The SHA-256 of the id of the session whose next ticket it is; `nil`: it is a first one, or a program of before
    /// has kept it.
    var session: [UInt8]?
    /// It was issued for several uses, or for a bearer of such a ticket. Programs of before don't say.
    var isShared: Bool?
    /// That the operator's ticket proves.
    var account: AccountID?
    /// Only routes that name its holder's method are open to it. Programs of before don't say: they know no such
    /// method.
    var isOnlyByName: Bool?

    /// As a store keeps a session's next ticket; `nil` for a first one, and where it is too long.
    ///
    /// - Parameter sealed: this, as it is to be written.
    func kept(as hash: TicketHash, _ sealed: [UInt8]) -> KeptTicket? {
        guard let session = session.flatMap({ SessionMark(bytes: $0) }),
            let holder = (holder?.identity.mark).flatMap({ HolderMark(bytes: $0) })
        else { return nil }
        return KeptTicket(
            hash: hash.carried, session: session, holder: holder, content: sealed, expires: expires)
    }
}

/// Keeps the next tickets of sessions, so that they outlive this process.
protocol NextTicketKeeper: Sendable {
    /// Unix milliseconds, by the clock that the times of its tickets are meant by.
    func time(at moment: Moment) -> Int64

    /// - Returns: `nil` if it can't be kept, now or later.
    func seal(_ content: TicketContent, as hash: TicketHash, at moment: Moment) -> KeptTicket?

    func keep(
        _ ticket: KeptTicket, at moment: Moment,
        then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void)

    func shorten(ofSession session: SessionMark, to time: Int64)

    /// One that was never sent. Without an answer it stays, and expires: nobody has its text.
    func discard(_ hash: TicketHash)
}

/// Where a gateway's tickets are: settled when its office is opened.
enum TicketPlace: Sendable {
    /// In the office's own table, and nowhere else.
    case table
    /// The same; a store keeps the next tickets of sessions.
    case tableAndStore(LocalTickets)
    /// In the fleet's store. The table only counts those that this gateway has issued.
    case fleet(FleetTickets)

    /// - Parameter kept: a fleet's store needs no other.
    init(_ fleet: Fleet?, _ kept: (any KeptTicketStore)?) {
        self =
            if let fleet { .fleet(FleetTickets(fleet: fleet)) } else if let kept {
                .tableAndStore(LocalTickets(store: kept))
            } else { .table }
    }

    /// First tickets are issued and spent without asking a store.
    var answersAtOnce: Bool {
        if case .fleet = self { false } else { true }
    }

    /// `nil`: no store keeps next tickets.
    var keeper: (any NextTicketKeeper)? {
        switch self {
        case .table: nil
        case .tableAndStore(let local): local
        case .fleet(let tickets): tickets
        }
    }
}

/// The next tickets of a gateway that is alone. They are as readable in its store as everything else.
struct LocalTickets: NextTicketKeeper {
    let store: any KeptTicketStore

    func time(at moment: Moment) -> Int64 { moment.unixMilliseconds }

    func seal(_ content: TicketContent, as hash: TicketHash, at moment: Moment) -> KeptTicket? {
        (try? StateEncoder.bytes(of: content)).flatMap { content.kept(as: hash, $0) }
    }

    func keep(
        _ ticket: KeptTicket, at moment: Moment,
        then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void
    ) { store.keep(ticket, then: then) }

    func shorten(ofSession session: SessionMark, to time: Int64) { store.shorten(ofSession: session, to: time) }

    func discard(_ hash: TicketHash) { store.discard(hash: hash.carried) }

    func find(
        _ hash: TicketHash, at moment: Moment,
        then: @escaping @Sendable (Result<TicketContent?, KeyRegistryError>) -> Void
    ) {
        store.find(hash: hash.carried, at: moment.unixMilliseconds) { found in
            then(found.map { $0.flatMap(Self.content) })
        }
    }

    func use(_ hash: TicketHash, then: @escaping @Sendable (Result<Bool, KeyRegistryError>) -> Void) {
        store.use(hash: hash.carried, then: then)
    }

    /// - Returns: nil for what no gateway has written.
    static func content(of ticket: KeptTicket) -> TicketContent? {
        guard let content = try? StateDecoder.decode(TicketContent.self, from: ticket.content, demandsASCII: true),
            content.session == ticket.session.bytes, content.holder?.identity.mark == ticket.holder.bytes,
            content.uses == 1
        else { return nil }
        return content
    }
}
