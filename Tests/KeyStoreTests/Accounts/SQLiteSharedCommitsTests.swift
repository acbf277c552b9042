import BlockingWork
import GRDB
import KeyStore
import StallTestKit
import Synchronization
import Testing

@testable import KeyStoreSQLite

/// Changes that wait for the disk together.
@Suite("Sign-ins that wait at the same moment")
struct SQLiteSharedCommitsTests {
    private let directory: TemporaryDirectory
    private let gate = Gate()
    private let commits = CommitCount()

    init() throws { directory = try TemporaryDirectory() }

    /// From now on the first commit waits, and all are counted.
    private func store(waiting: Int, administrationMilliseconds: Int = 60_000) async throws -> SQLiteKeyRegistry {
        var limits = SQLiteKeyRegistry.Limits.patient
        limits.administrationBusyMilliseconds = administrationMilliseconds
        limits.maximumWaitingCalls = waiting
        limits.maximumWaitingRequests = waiting
        let store = try SQLiteKeyRegistry(path: directory.file("keys.sqlite"), limits: limits)
        for byte in 1...UInt8(3) { _ = try await store.begin(.sample(byte), maximum: 10) }
        try store.database.administration.use { [gate, commits] database in
            database.add(transactionObserver: commits, extent: .databaseLifetime)
            database.add(transactionObserver: CommitStall(gate), extent: .databaseLifetime)
        }
        return store
    }

    private func signIn(
        _ number: Int, of account: UInt8, to store: SQLiteKeyRegistry
    ) async throws -> PasskeySigningIn {
        let family = RefreshFamily.sample(number, account: account, beginner: .passkey(.sample(Int(account))))
        return try await store.signIn(
            PasskeySignIn(.sample(Int(account)), beginning: family), spending: SignInMarks())
    }

    @Test func `are one transaction`() async throws {
        let store = try await store(waiting: 64)
        try await withThrowingTaskGroup(of: PasskeySigningIn.self) { group in
            group.addTask { try await signIn(1, of: 1, to: store) }
            await gate.arrivals(1)
            for number in 2...20 { group.addTask { try await signIn(number, of: UInt8(number % 3 + 1), to: store) } }
            while store.commits.waiting < 19, gate.isHolding { await Task.yield() }
            #expect(commits.count == 0)
            gate.open()
            for try await outcome in group { #expect(outcome == .passkey(.used)) }
        }
        #expect(commits.count == 2)
        var families = 0
        for byte in 1...UInt8(3) { families += try await store.families(of: .sample(byte)).count }
        #expect(families == 20)
    }

    @Test func `are one transaction with those that come while the thread gives way before it`() async throws {
        let store = try await store(waiting: 64)
        gate.open()
        let turn = Gate()
        let shared = SQLiteSharedCommits(of: store.database, on: BlockingThreads("test")) { turn.pass() }
        try await withThrowingTaskGroup(of: PasskeySpending.self) { group in
            group.addTask { try await signIn(1, to: shared, of: store) }
            await turn.arrivals(1)
            for byte in 2...UInt8(3) { group.addTask { try await signIn(byte, to: shared, of: store) } }
            while shared.waiting < 3, turn.isHolding { await Task.yield() }
            #expect(commits.count == 0)
            turn.open()
            for try await outcome in group { #expect(outcome == .used) }
        }
        #expect(commits.count == 1)
        for byte in 1...UInt8(3) { #expect(try await store.families(of: .sample(byte)).count == 1) }
    }

    private func signIn(
        _ account: UInt8, to shared: SQLiteSharedCommits, of store: SQLiteKeyRegistry
    ) async throws -> PasskeySpending {
        let number = Int(account)
        let family = RefreshFamily.sample(number, account: account, beginner: .passkey(.sample(number)))
        let signIn = PasskeySignIn(.sample(number), beginning: family)
        return try await shared.change { [database = store.database] in try database.signIn(signIn, in: $0) }
    }

    @Test func `are several transactions above a maximum`() async throws {
        let store = try await store(waiting: 200)
        let more = SQLiteSharedCommits.maximumChanges + 1
        try await withThrowingTaskGroup(of: PasskeySigningIn.self) { group in
            group.addTask { try await signIn(1, of: 1, to: store) }
            await gate.arrivals(1)
            for number in 2..<more + 2 {
                group.addTask { try await signIn(number, of: UInt8(number % 3 + 1), to: store) }
            }
            while store.commits.waiting < more, gate.isHolding { await Task.yield() }
            gate.open()
            for try await outcome in group { #expect(outcome == .passkey(.used)) }
        }
        #expect(commits.count == 3)
    }

    @Test func `don't fail with one of them`() async throws {
        let store = try await store(waiting: 64)
        try await withThrowingTaskGroup(of: PasskeySigningIn?.self) { group in
            group.addTask { try await signIn(1, of: 1, to: store) }
            await gate.arrivals(1)
            group.addTask { try await signIn(2, of: 2, to: store) }
            group.addTask {
                let failing: PasskeySigningIn? = try? await store.commits.change { database in
                    try database.execute(sql: "DELETE FROM passkey")
                    throw DeviceKeyTable.damage
                }
                return failing
            }
            group.addTask { try await signIn(3, of: 3, to: store) }
            while store.commits.waiting < 3, gate.isHolding { await Task.yield() }
            gate.open()
            let outcomes = try await group.reduce(into: []) { $0.append($1) }
            #expect(outcomes.count { $0 == .passkey(.used) } == 3 && outcomes.count { $0 == nil } == 1)
        }
        for byte in 1...UInt8(3) { #expect(try await store.families(of: .sample(byte)).count == 1) }
    }

    @Test func `are refused above the limit of calls that wait, and nothing of them has happened`() async throws {
        let store = try await store(waiting: 1)
        try await withThrowingTaskGroup(of: PasskeySigningIn.self) { group in
            group.addTask { try await signIn(1, of: 1, to: store) }
            await gate.arrivals(1)
            group.addTask { try await signIn(2, of: 2, to: store) }
            while store.commits.waiting < 1, gate.isHolding { await Task.yield() }
            await #expect(throws: KeyRegistryError.queueFull) { try await signIn(3, of: 3, to: store) }
            gate.open()
            for try await outcome in group { #expect(outcome == .passkey(.used)) }
        }
        #expect(try await store.families(of: .sample(3)) == [])
    }

    @Test func `are taken also while as many other calls wait for the thread as may`() async throws {
        let store = try await store(waiting: 2)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask { try await signIn(1, of: 1, to: store) == .passkey(.used) }
            await gate.arrivals(1)
            for byte in 1...UInt8(2) { group.addTask { try await store.enrol(.sample(byte)) == .enrolled } }
            for number in 2...3 {
                group.addTask { try await signIn(number, of: UInt8(number), to: store) == .passkey(.used) }
            }
            while store.commits.waiting < 2 || store.waitingWrites < 2, gate.isHolding { await Task.yield() }
            gate.open()
            for try await isDone in group { #expect(isDone) }
        }
    }

    @Test func `go on after one that has waited its time for the lock`() async throws {
        let store = try await store(waiting: 64)
        gate.open()
        let (thread, commits) = (Gate(), store.commits)
        let other = try OtherProcess(directory.file("keys.sqlite"))
        try other.run("BEGIN IMMEDIATE")
        async let occupied: Void = store.write { _, _ throws(KeyRegistryError) in thread.pass() }
        await thread.arrivals(1)
        let short = Task { try await commits.change(within: 5_000) { _ in true } }
        while commits.waiting < 1, thread.isHolding { await Task.yield() }
        let long = Task { try await commits.change { _ in true } }
        while commits.waiting < 2, thread.isHolding { await Task.yield() }
        thread.open()
        try await occupied
        await #expect(throws: KeyRegistryError.busy) { try await short.value }
        try other.run("COMMIT")
        #expect(try await long.value)
    }

    @Test func `are busy when they have waited their time, while the disk is stuck`() async throws {
        let store = try await store(waiting: 8, administrationMilliseconds: 1_000)
        async let stuck = signIn(1, of: 1, to: store)
        await gate.arrivals(1)
        await #expect(throws: KeyRegistryError.busy) { try await signIn(2, of: 2, to: store) }
        #expect(gate.isHolding)
        gate.open()
        #expect(try await stuck == .passkey(.used))
        #expect(try await store.families(of: .sample(2)) == [])
    }
}

@Suite("A thread that gives way before a transaction")
struct GatheringTests {
    private func turns(_ counts: Int...) -> Int {
        var gathering = Gathering(upTo: 10)
        return counts.prefix { gathering.goesOn(with: $0) }.count
    }

    @Test func `does so once if nothing comes`() { #expect(turns(1, 1, 1) == 1) }

    @Test func `does so again if something has come, but not for ever`() {
        #expect(turns(1, 2, 2, 2) == 2)
        #expect(turns(1, 2, 3, 4, 5, 6) == Gathering.maximumTurns)
    }

    @Test func `doesn't if nothing waits any more, or as many as one transaction takes`() {
        #expect(turns(0, 1) == 0)
        #expect(turns(10, 11) == 0)
        #expect(turns(3, 10, 11) == 1)
    }
}

/// Holds SQLite's lock as long as a test likes.
private final class OtherProcess {
    private let queue: DatabaseQueue

    init(_ path: String) throws {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        queue = try DatabaseQueue(path: path, configuration: configuration)
    }

    func run(_ sql: String) throws { try queue.writeWithoutTransaction { try $0.execute(sql: sql) } }
}

/// Counts the commits of a connection.
private final class CommitCount: TransactionObserver, Sendable {
    private let commits = Atomic<Int>(0)

    var count: Int { commits.load(ordering: .sequentiallyConsistent) }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidCommit(_ database: Database) { commits.add(1, ordering: .sequentiallyConsistent) }
    func databaseDidRollback(_ database: Database) {}
}
