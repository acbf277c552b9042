import Foundation
import GRDB
import Glibc
import KeyStore
import StallTestKit
import Synchronization
import Testing

@testable import KeyStoreSQLite

@Suite("Next tickets in a store's file")
struct SQLiteKeptTicketTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("keys.sqlite")
    }

    private func open(maximum: Int = 100) throws -> (store: SQLiteKeyDatabase, tickets: SQLiteKeptTickets) {
        let store = try SQLiteKeyDatabase(path: path, limits: .patient)
        return (store, try SQLiteKeptTickets(of: store, maximum: maximum))
    }

    private func count(_ store: SQLiteKeyDatabase) throws -> Int {
        try store.readers.use { try KeptTicketTable.count(in: $0) }
    }

    @Test func `survive kill -9, as does their use`() async throws {
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let store = try SQLiteKeyDatabase(path: path, limits: .patient)
            let tickets = try SQLiteKeptTickets(of: store, maximum: 100)
            for byte in UInt8(1)...20 { _ = try await tickets.keep(.sample(byte, session: byte)) }
            for byte in UInt8(1)...10 { _ = try await tickets.use(hash: KeptTicket.sample(byte).hash) }
            kill(getpid(), SIGKILL)
        }
        let (_, tickets) = try open()
        for byte in UInt8(1)...20 {
            let found = try await tickets.find(hash: KeptTicket.sample(byte).hash, at: 1)
            #expect(found == (byte > 10 ? .sample(byte, session: byte) : nil))
        }
    }

    @Test func `have a maximum, up to which a session's older ones give way`() async throws {
        let (store, tickets) = try open(maximum: 4)
        for byte in UInt8(1)...3 { #expect(try await tickets.keep(.sample(byte)) == .spent) }
        #expect(try await tickets.keep(.sample(4, session: 2)) == .spent)
        #expect(try await tickets.keep(.sample(5, session: 3)) == .full)
        #expect(try await tickets.keep(.sample(6)) == .spent)
        #expect(try count(store) == 4)
        // What isn't kept costs a session nothing.
        #expect(try await tickets.keep(.sample(7, session: 2)) == .full)
        #expect(try await tickets.find(hash: KeptTicket.sample(4).hash, at: 1) != nil)
        try await tickets.forget(expiredAt: 1_000)
        #expect(try count(store) == 0)
        #expect(try await tickets.keep(.sample(5, session: 3)) == .spent)
    }

    /// So no power cut brings a used ticket back. That the store syncs its log then is SQLite's promise
    /// (`synchronous=FULL`).
    @Test func `are used when that is on the disk, and not before`() async throws {
        let (store, tickets) = try open()
        let stalled = Gate()
        #expect(try await tickets.keep(.sample(1)) == .spent)
        try store.administration.use { $0.add(transactionObserver: CommitStall(stalled), extent: .databaseLifetime) }
        let answers = Mutex<[Bool]>([])
        async let isUsed = {
            let isUsed = try await tickets.use(hash: KeptTicket.sample(1).hash)
            answers.withLock { $0.append(isUsed) }
            return isUsed
        }()
        await stalled.arrivals(1)
        #expect(answers.withLock { $0 } == [] && stalled.isHolding)
        stalled.open()
        #expect(try await isUsed)
        let level = try store.administration.use { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
        #expect(level == 2)
    }

    @Test func `wait for their turn up to a limit, and no caller waits for them`() async throws {
        let (store, tickets) = try open()
        let stalled = Gate()
        #expect(try await tickets.keep(.sample(1)) == .spent)
        try store.administration.use { $0.add(transactionObserver: CommitStall(stalled), extent: .databaseLifetime) }
        async let used = tickets.use(hash: KeptTicket.sample(1).hash)
        await stalled.arrivals(1)
        let refused = Mutex(0)
        let done = DispatchGroup()
        for _ in 0..<SQLiteKeptTickets.maximumWaiting + 1 {
            done.enter()
            tickets.find(hash: KeptTicket.sample(2).hash, at: 1) { result in
                if case .failure(.queueFull) = result { refused.withLock { $0 += 1 } }
                done.leave()
            }
        }
        #expect(refused.withLock { $0 } == 1 && stalled.isHolding)
        stalled.open()
        #expect(try await used)
        await withCheckedContinuation { continuation in done.notify(queue: .global()) { continuation.resume() } }
        #expect(refused.withLock { $0 } == 1)
    }

    @Test func `of which one is damaged harm no other one`() async throws {
        let (store, tickets) = try open()
        for byte in UInt8(1)...2 { #expect(try await tickets.keep(.sample(byte, session: byte)) == .spent) }
        try store.administration.use { database in
            try database.execute(sql: "UPDATE kept_ticket SET content = zeroblob(9000) WHERE number = 1")
        }
        let damaged = Task { try await tickets.find(hash: KeptTicket.sample(1).hash, at: 1) }
        #expect(try await tickets.find(hash: KeptTicket.sample(2).hash, at: 1) != nil)
        await #expect(throws: KeyRegistryError.self) { try await damaged.value }
        let findings = SQLiteStoreCheck(path: path).findings.filter { $0.grade == .error }
        #expect(findings.contains { $0.text.hasPrefix("a ticket: ") }, "\(findings)")
    }

    /// Where it is restored their one use would be possible again.
    @Test func `are left out of a copy`() async throws {
        let (store, tickets) = try open()
        _ = try store.enrol(.sample())
        let marker = [UInt8](repeating: 0xC7, count: 200)
        for byte in UInt8(1)...50 {
            #expect(try await tickets.keep(.sample(byte, session: byte, content: marker)) == .spent)
        }
        let copy = directory.file("copy.sqlite")
        #expect(try SQLiteBackup(of: path, to: copy, replacing: false).keys == 1)
        #expect(FileManager.default.contents(atPath: copy)?.range(of: Data(marker)) == nil)
        #expect(try count(SQLiteKeyDatabase(path: copy, creating: false)) == 0)
        #expect(try count(store) == 50)
        #expect(SQLiteStoreCheck(path: copy).isGood)
    }

    @Test func `are erased with their client, without a trace`() async throws {
        let (store, tickets) = try open()
        _ = try store.enrol(.sample())
        let (marker, other) = ([UInt8](repeating: 0xC7, count: 200), [UInt8](repeating: 0xC8, count: 200))
        for byte in UInt8(1)...20 {
            let isOf = byte % 2 == 0
            let ticket = KeptTicket.sample(
                byte, session: byte, holder: isOf ? 105 : 106, content: isOf ? marker : other)
            #expect(try await tickets.keep(ticket) == .spent)
        }
        #expect(try store.beginErasure(of: .sample(1), at: 5))
        _ = try store.finishErasure(of: .sample(1), holders: [.sample(105), .sample(107)])
        #expect(try store.emptyLog())
        for suffix in ["", "-wal"] {
            let data = FileManager.default.contents(atPath: path + suffix) ?? Data()
            #expect(data.range(of: Data(marker)) == nil && data.range(of: Data(HolderMark.sample(105).bytes)) == nil)
        }
        #expect(try count(store) == 10)
    }

    @Test func `are kept in the store of an older program, too`() async throws {
        do { _ = try SQLiteKeyDatabase(path: path).enrol(.sample()) }
        try DatabaseQueue(path: path).inDatabase { try $0.execute(sql: "DROP TABLE kept_ticket") }
        #expect(SQLiteStoreCheck(path: path).isGood)
        let (_, tickets) = try open()
        #expect(try await tickets.keep(.sample(1)) == .spent)
        #expect(SQLiteStoreCheck(path: path).isGood)
    }

    /// A thousand pages that come back after a restart: their calls are few transactions.
    @Test func `that come at once are used together`() async throws {
        let (store, tickets) = try open(maximum: 10_000)
        let commits = Commits()
        try store.administration.use { $0.add(transactionObserver: commits, extent: .databaseLifetime) }
        let many = (0..<1_000).map { number -> KeptTicket in
            var hash = [UInt8](repeating: 7, count: KeptTicket.hashBytes)
            (hash[0], hash[1]) = (UInt8(number & 0xFF), UInt8(number >> 8))
            let session = SessionMark(bytes: hash) ?? .sample(1)
            return KeptTicket(hash: hash, session: session, holder: .sample(1), content: [1], expires: 9) ?? .sample(1)
        }
        for ticket in many { #expect(try await tickets.keep(ticket) == .spent) }
        let stalled = Gate()
        try store.administration.use { $0.add(transactionObserver: CommitStall(stalled), extent: .databaseLifetime) }
        let used = try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask { try await tickets.use(hash: many[0].hash) }
            await stalled.arrivals(1)
            let waiting = Count()
            for ticket in many.dropFirst() {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        tickets.use(hash: ticket.hash) { continuation.resume(returning: (try? $0.get()) == true) }
                        waiting.increment()
                    }
                }
            }
            while waiting.value < many.count - 1, stalled.isHolding { await Task.yield() }
            stalled.open()
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(used == many.count)
        #expect(commits.count <= 1 + (many.count + SQLiteKeptTickets.batch - 1) / SQLiteKeptTickets.batch)
    }
}

private final class Count: Sendable {
    private let number = Mutex(0)

    var value: Int { number.withLock { $0 } }

    func increment() { number.withLock { $0 += 1 } }
}

private final class Commits: TransactionObserver, Sendable {
    private let number = Mutex(0)

    var count: Int { number.withLock { $0 } }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidCommit(_ database: Database) { number.withLock { $0 += 1 } }
    func databaseDidRollback(_ database: Database) {}
}
