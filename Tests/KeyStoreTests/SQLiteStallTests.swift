import GRDB
import KeyStore
import StallTestKit
import Synchronization
import Testing

@testable import KeyStoreSQLite

/// A disk that stalls during a registration: which calls wait, which don't, and which are refused.
@Suite("The SQLite store on a disk that stalls")
struct SQLiteStallTests {
    private let directory: TemporaryDirectory
    private let gate = Gate()

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// - Parameter waiting: the limit of calls that wait for a thread.
    private func store(waiting: Int, administrationMilliseconds: Int = 60_000) throws -> SQLiteKeyRegistry {
        var limits = SQLiteKeyRegistry.Limits.patient
        limits.busyMilliseconds = 5
        limits.administrationBusyMilliseconds = administrationMilliseconds
        limits.maximumWaitingCalls = waiting
        return try SQLiteKeyRegistry(path: directory.file("keys.sqlite"), limits: limits)
    }

    /// From now on a registration waits at its commit while it holds the write lock, as it would for an fsync.
    private func stallCommits(of store: SQLiteKeyRegistry) throws {
        try store.database.administration.use {
            $0.add(transactionObserver: CommitStall(gate), extent: .databaseLifetime)
        }
    }

    @Test func `answers reads, counters, checkpoints and the watch while a registration waits`() async throws {
        let store = try store(waiting: 8)
        let revocations = try SQLiteRevocations(of: store)
        _ = try await store.enrol(.sample(1))
        try stallCommits(of: store)
        async let stuck = store.enrol(.sample(2))
        await gate.arrivals(1)

        let immediate: any ImmediateKeyRegistry = store
        for _ in 0..<3 {
            #expect(try immediate.standing(of: .sample(1)) == DeviceKey.sample(1).standing)
            // The write lock is taken: `.busy` after the busy limit.
            #expect(throws: KeyRegistryError.busy) { try immediate.advanceCounter(of: .sample(1), to: 1, at: 1) }
            #expect(try await store.standing(of: .sample(1)) == DeviceKey.sample(1).standing)
            #expect(try await store.key(.sample(2)) == nil)
            #expect(try await store.keys(after: nil, limit: 9).count == 1)
            _ = try await revocations.ifChanged()
            try await store.checkpoint()
        }
        #expect(gate.isHolding)
        gate.open()
        #expect(try await stuck == .enrolled)
    }

    @Test func `lets a counter wait off the reactors, and no read behind it`() async throws {
        let store = try store(waiting: 8)
        for byte in UInt8(1)...2 { _ = try await store.enrol(.sample(byte)) }
        try stallCommits(of: store)
        async let stuck = store.enrol(.sample(3))
        await gate.arrivals(1)
        let keys: any KeyRegistry = store
        async let counter = keys.advanceCounter(of: .sample(1), to: 1, at: 1)
        while store.database.countersUnderWay.load(ordering: .sequentiallyConsistent) < 1, gate.isHolding {
            await Task.yield()
        }

        let immediate: any ImmediateKeyRegistry = store
        for _ in 0..<3 {
            // It begins later than the other one, and has the limit of a reactor.
            #expect(throws: KeyRegistryError.busy) { try immediate.advanceCounter(of: .sample(2), to: 1, at: 1) }
            #expect(try await keys.standing(of: .sample(1))?.counter == 0)
        }
        #expect(gate.isHolding)
        gate.open()
        #expect(try await stuck == .enrolled)
        #expect(try await counter == .advanced)
        #expect(try await keys.standing(of: .sample(1))?.counter == 1)
    }

    @Test(arguments: [0, 3])
    func `refuses one registration more than may wait, and records nothing of it`(limit: Int) async throws {
        let store = try store(waiting: limit)
        try stallCommits(of: store)
        try await withThrowingTaskGroup(of: Enrolment.self) { group in
            group.addTask { try await store.enrol(.sample(0)) }
            await gate.arrivals(1)
            for number in 0..<limit { group.addTask { try await store.enrol(.sample(UInt8(number + 1))) } }
            while store.waitingWrites < limit, gate.isHolding { await Task.yield() }
            await #expect(throws: KeyRegistryError.queueFull) { try await store.enrol(.sample(99)) }
            await #expect(throws: KeyRegistryError.queueFull) { try await store.forget(.sample(0)) }
            #expect(gate.isHolding)
            gate.open()
            for try await outcome in group { #expect(outcome == .enrolled) }
        }
        #expect(try await store.keys(after: nil, limit: 9).count == limit + 1)
        #expect(try await store.enrol(.sample(99)) == .enrolled)
    }

    @Test
    func `answers busy when a registration has waited its time, while the one before it is still stuck`() async throws {
        let store = try store(waiting: 8, administrationMilliseconds: 1_000)
        try stallCommits(of: store)
        async let stuck = store.enrol(.sample(1))
        await gate.arrivals(1)
        await #expect(throws: KeyRegistryError.busy) { try await store.enrol(.sample(2)) }
        #expect(gate.isHolding)
        gate.open()
        #expect(try await stuck == .enrolled)
        #expect(try await store.key(.sample(2)) == nil)
    }
}

/// Called by SQLite between the last write and the end of a commit, on the thread that commits.
final class CommitStall: TransactionObserver {
    private let gate: Gate

    init(_ gate: Gate) {
        self.gate = gate
    }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseWillCommit() throws { gate.pass() }
    func databaseDidCommit(_ database: Database) {}
    func databaseDidRollback(_ database: Database) {}
}
