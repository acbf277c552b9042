import KeyStore
import KeyStorePostgreSQL
import KeyStoreSQLite
import KeyStoreTestKit
import Testing

/// A store of next tickets: that of a gateway alone, or that of a fleet, through two gateways.
enum KeptTicketKind: CaseIterable, Sendable {
    case memory, sqlite, sharedMemory, postgresql

    func make() async throws -> KeptTicketBench {
        switch self {
        case .memory: return KeptTicketBench([LocalKeeper(MemoryKeptTickets(maximum: 1_000))])
        case .sqlite:
            let directory = try TemporaryDirectory()
            let store = try SQLiteKeyRegistry(path: directory.file("keys.sqlite"), limits: .patient)
            return KeptTicketBench([LocalKeeper(try SQLiteKeptTickets(of: store, maximum: 1_000))], directory)
        case .sharedMemory:
            return KeptTicketBench([SharedKeeper(MemorySharedRegistry(.sample(1)), .sample(1))])
        case .postgresql:
            let database = try await FleetDatabase()
            let home = try await database.registry.incarnation()
            let other = try database.anotherRegistry()
            return KeptTicketBench([SharedKeeper(database.registry, home), SharedKeeper(other, home)], database)
        }
    }
}

/// What both kinds of stores do with next tickets.
protocol TicketKeeper: Sendable {
    func keep(_ ticket: KeptTicket) async throws -> MarkSpending
    /// - Returns: content and end of the ticket that was used.
    func take(_ hash: [UInt8], at time: Int64) async throws -> TakenNextTicket?
    func discard(_ hash: [UInt8]) async throws
    func shorten(_ session: SessionMark, to time: Int64) async throws
    func forget(expiredAt time: Int64) async throws
}

struct TakenNextTicket: Equatable, Sendable {
    let content: [UInt8]
    let expires: Int64
}

struct KeptTicketBench {
    let gateways: [any TicketKeeper]
    private let owner: (any AnyObject & Sendable)?

    init(_ gateways: [any TicketKeeper], _ owner: (any AnyObject & Sendable)? = nil) {
        (self.gateways, self.owner) = (gateways, owner)
    }

    var one: any TicketKeeper { gateways[0] }
    var other: any TicketKeeper { gateways[gateways.count - 1] }
}

private struct LocalKeeper: TicketKeeper {
    let store: any KeptTicketStore

    init(_ store: any KeptTicketStore) { self.store = store }

    func keep(_ ticket: KeptTicket) async throws -> MarkSpending { try await store.keep(ticket) }

    func take(_ hash: [UInt8], at time: Int64) async throws -> TakenNextTicket? {
        guard let found = try await store.find(hash: hash, at: time), try await store.use(hash: hash) else {
            return nil
        }
        return TakenNextTicket(content: found.content, expires: found.expires)
    }

    func discard(_ hash: [UInt8]) { store.discard(hash: hash) }
    func shorten(_ session: SessionMark, to time: Int64) { store.shorten(ofSession: session, to: time) }
    func forget(expiredAt time: Int64) async throws { try await store.forget(expiredAt: time) }
}

private struct SharedKeeper: TicketKeeper {
    let store: any SharedKeyRegistry
    let home: StoreIncarnation

    init(_ store: any SharedKeyRegistry, _ home: StoreIncarnation) { (self.store, self.home) = (store, home) }

    func keep(_ ticket: KeptTicket) async throws -> MarkSpending { try await store.keep(ticket, in: home) }

    func take(_ hash: [UInt8], at time: Int64) async throws -> TakenNextTicket? {
        try await store.takeTicket(hash: hash, at: time, in: home).map {
            TakenNextTicket(content: $0.ticket.sealed, expires: $0.ticket.expires)
        }
    }

    func discard(_ hash: [UInt8]) async throws { try await store.discardTicket(hash: hash) }
    func shorten(_ session: SessionMark, to time: Int64) async throws {
        try await store.shortenTickets(ofSession: session, to: time)
    }
    func forget(expiredAt time: Int64) async throws { try await store.forgetMarks(expiredAt: time, maximum: 1_000) }
}
