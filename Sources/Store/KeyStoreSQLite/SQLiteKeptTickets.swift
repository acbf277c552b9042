import BlockingWork
import GRDB
package import KeyStore
import Synchronization

/// The next tickets of a gateway's sessions, in the file of its keys. The calls that wait at the same moment are one
/// transaction, on a thread of their own.
///
/// A batch that uses tickets waits for the disk, as a registration does, since no power cut may bring a used ticket
/// back. Any other one is committed as a counter is: the lock that reactors need is held for a moment.
package final class SQLiteKeptTickets: KeptTicketStore {
    /// Calls that wait; further ones are refused with `.queueFull`.
    package static let maximumWaiting = 2_048
    /// Calls of one transaction, so that it's short.
    static let batch = 100

    private struct Call: Sendable {
        enum Kind { case look, write, use }

        let kind: Kind
        /// Returns what is to be done when the transaction is committed.
        let run: @Sendable (Database) throws -> @Sendable () -> Void
        let fail: @Sendable (KeyRegistryError) -> Void

        /// What can't be read concerns only who has asked for it. A write that fails ends its transaction.
        func answer(_ database: Database) throws -> @Sendable () -> Void {
            do {
                return try run(database)
            } catch let error as KeyRegistryError where kind == .look {
                return { [fail] in fail(error) }
            }
        }
    }

    private struct Queue {
        var calls: [Call] = []
        var isRunning = false
    }

    private let database: SQLiteKeyDatabase
    private let connection: SQLiteConnectionPool
    private let maximum: Int
    /// There aren't more than so many tickets.
    private let mostTickets: Mutex<Int>
    private let thread = BlockingThreads("tickets")
    private let queue = Mutex(Queue())

    /// - Parameter maximum: tickets at once.
    package convenience init(
        of registry: SQLiteKeyRegistry, maximum: Int, observer: StoreObserver? = nil
    ) throws(KeyRegistryError) {
        try self.init(of: registry.database, maximum: maximum, observer: observer)
    }

    init(of database: SQLiteKeyDatabase, maximum: Int, observer: StoreObserver? = nil) throws(KeyRegistryError) {
        self.database = database
        self.maximum = maximum
        // They are counted for the first one.
        mostTickets = Mutex(maximum)
        connection = try SQLiteConnectionPool(
            SQLiteStoreFile(path: database.path, creating: false), access: .committed, size: 1,
            busyMilliseconds: database.limits.administrationBusyMilliseconds, observer?.watching(.administer))
    }

    // MARK: Calls

    package func keep(
        _ ticket: KeptTicket, then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void
    ) {
        add(.write, then) { [self] database in try keep(ticket, in: database) }
    }

    private func keep(_ ticket: KeptTicket, in database: Database) throws -> MarkSpending {
        guard try !KeptTicketTable.knows(ticket.hash, in: database) else { return .alreadySpent }
        let older = try KeptTicketTable.older(of: ticket.session, in: database)
        guard try hasRoom(besides: older.count, in: database) else { return .full }
        try KeptTicketTable.remove(older, in: database)
        try KeptTicketTable.insert(ticket, into: database)
        return .spent
    }

    /// Counts one more ticket. All of them are counted only when there may be too many.
    private func hasRoom(besides removed: Int, in database: Database) throws -> Bool {
        try mostTickets.withLock { most in
            if most >= maximum { most = try KeptTicketTable.count(in: database) - removed }
            guard most < maximum else { return false }
            most += 1
            return true
        }
    }

    package func find(
        hash: [UInt8], at time: Int64, then: @escaping @Sendable (Result<KeptTicket?, KeyRegistryError>) -> Void
    ) {
        add(.look, then) { database in
            try KeptTicketTable.fetch(hash, from: database).flatMap { $0.expires > time ? $0 : nil }
        }
    }

    package func use(hash: [UInt8], then: @escaping @Sendable (Result<Bool, KeyRegistryError>) -> Void) {
        add(.use, then) { database in try KeptTicketTable.use(hash, in: database) }
    }

    package func discard(hash: [UInt8]) {
        add(.write, Self.nobody) { database in try KeptTicketTable.remove(hash, in: database) }
    }

    package func shorten(ofSession session: SessionMark, to time: Int64) {
        add(.write, Self.nobody) { database in
            try KeptTicketTable.shorten(ofSession: session, to: time, in: database)
        }
    }

    @Sendable private static func nobody(_ result: Result<Void, KeyRegistryError>) {}

    package func forget(expiredAt time: Int64) async throws(KeyRegistryError) {
        // Without anything to forget no lock is taken.
        guard try await answer(.look, { try KeptTicketTable.has(expiredAt: time, in: $0) }) else { return }
        try await answer(.write) { try KeptTicketTable.forget(expiredAt: time, in: $0) }
    }

    private func answer<Value: Sendable>(
        _ kind: Call.Kind, _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(KeyRegistryError) -> Value {
        let result: Result<Value, KeyRegistryError> = await withCheckedContinuation { continuation in
            add(kind, { continuation.resume(returning: $0) }, body)
        }
        return try result.get()
    }

    package var waiting: Int { queue.withLock { $0.calls.count } }

    // MARK: Batches

    private func add<Value: Sendable>(
        _ kind: Call.Kind, _ then: @escaping @Sendable (Result<Value, KeyRegistryError>) -> Void,
        _ body: @escaping @Sendable (Database) throws -> Value
    ) {
        let call = Call(
            kind: kind,
            run: { database in
                let value = try body(database)
                return { then(.success(value)) }
            }, fail: { then(.failure($0)) })
        let (isAdded, starts) = queue.withLock { queue in
            guard queue.calls.count < Self.maximumWaiting else { return (false, false) }
            queue.calls.append(call)
            defer { queue.isRunning = true }
            return (true, !queue.isRunning)
        }
        guard isAdded else { return call.fail(.queueFull) }
        // There is one such job at a time, so it has room.
        if starts { _ = thread.start { [self] in runAll() } }
    }

    private func runAll() {
        while true {
            let calls = queue.withLock { queue -> [Call] in
                let calls = Array(queue.calls.prefix(Self.batch))
                queue.calls.removeFirst(calls.count)
                queue.isRunning = !calls.isEmpty
                return calls
            }
            guard !calls.isEmpty else { return }
            do throws(KeyRegistryError) {
                for answer in try run(calls) { answer() }
            } catch {
                for call in calls { call.fail(error) }
            }
        }
    }

    private func run(_ calls: [Call]) throws(KeyRegistryError) -> [@Sendable () -> Void] {
        let kinds = Set(calls.map(\.kind))
        func all(_ database: Database) throws -> [@Sendable () -> Void] { try calls.map { try $0.answer(database) } }
        if kinds.contains(.use) { return try self.database.administer(until: nil, all) }
        if kinds.contains(.write) {
            defer { self.database.unsynced.add(calls.count) }
            return try connection.transaction(all)
        }
        return try connection.use(all)
    }
}
