import BlockingWork
import Dispatch
package import KeyStore

/// The embedded key store: a `SQLiteKeyDatabase`, and the threads on which its calls may wait.
///
/// The synchronous part runs on the caller's thread, within the busy limit. The calls of the asynchronous part may wait
/// for the disk for any time, so each set of connections has its own thread:
///
///     keys-read     key, keys, standing
///     keys-count    advanceCounter, uses of passkeys: reads don't wait behind those that wait for the lock
///     keys-write    enrol, revoke, restore, forget, sign-ins, refreshes: SQLite has one writer anyway
///     keys-wal      checkpoint
///     keys-revoked  SQLiteRevocations.ifChanged
///
/// A call that waits for its thread longer than the busy limit of administration gets `.busy`; if the queue is full, it
/// gets `.queueFull`. A call that is already waiting for the disk can't be cancelled, and returns when the disk
/// responds.
package final class SQLiteKeyRegistry: KeyRegistry, ImmediateKeyRegistry, CounterWindowStore {
    package typealias Limits = SQLiteKeyDatabase.Limits

    let database: SQLiteKeyDatabase
    /// Made on the thread of changes.
    let commits: SQLiteSharedCommits
    private let reading: BlockingThreads
    private let counting: BlockingThreads
    private let writing: BlockingThreads
    private let checkpointing: BlockingThreads

    /// Calls that no thread has taken yet, by the thread's name.
    package var queueLengths: [(name: String, count: Int)] {
        [
            ("keys-read", reading.waiting), ("keys-count", counting.waiting),
            ("keys-write", writing.waiting + commits.waiting), ("keys-wal", checkpointing.waiting),
        ]
    }

    /// Commits a write that changes nothing; durable when it returns.
    package func tryWriting() async throws(KeyRegistryError) {
        try await write { database, deadline throws(KeyRegistryError) in try database.tryWriting(until: deadline) }
    }

    package init(_ database: SQLiteKeyDatabase) {
        self.database = database
        let waiting = database.limits.maximumWaitingCalls
        reading = BlockingThreads("keys-read", maximumWaiting: waiting)
        counting = BlockingThreads("keys-count", maximumWaiting: database.limits.maximumWaitingRequests)
        writing = BlockingThreads("keys-write", maximumWaiting: waiting)
        checkpointing = BlockingThreads("keys-wal", maximumWaiting: waiting)
        commits = SQLiteSharedCommits(of: database, on: writing)
    }

    /// Opens the store as `SQLiteKeyDatabase` does.
    package convenience init(
        path: String, limits: Limits = Limits(), creating: Bool = true, observer: StoreObserver? = nil
    ) throws(KeyRegistryError) {
        self.init(try SQLiteKeyDatabase(path: path, limits: limits, creating: creating, observer: observer))
    }

    package var path: String { database.path }

    /// Registrations and administration that wait for their thread.
    var waitingWrites: Int { writing.waiting }

    package func settle() async throws(KeyRegistryError) { try await checkpoint() }

    /// See `SQLiteKeyDatabase.checkpoint()`.
    @discardableResult
    package func checkpoint() async throws(KeyRegistryError) -> SQLiteCheckpoint {
        try await checkpointing.answer(database.limits) { [database] _ throws(KeyRegistryError) in
            try database.checkpoint()
        }
    }
}

// MARK: The synchronous part

extension SQLiteKeyRegistry {
    package func standing(of id: KeyID) throws(KeyRegistryError) -> KeyStanding? { try database.standing(of: id) }

    package func advanceCounter(
        of id: KeyID, to counter: UInt32, at time: Int64
    ) throws(KeyRegistryError) -> CounterAdvance {
        try database.advanceCounter(of: id, to: counter, at: time)
    }

    package func use(
        _ counter: CounterUse, of id: KeyID, at time: Int64
    ) throws(KeyRegistryError) -> CounterAdvance {
        try database.use(counter, of: id, at: time)
    }

    package func putInForce(_ window: CounterWindow, after former: CounterWindow?) throws(KeyRegistryError) {
        try database.putInForce(window, after: former)
    }
}

// MARK: The asynchronous part

extension SQLiteKeyRegistry {
    package func standing(of id: KeyID) async throws(KeyRegistryError) -> KeyStanding? {
        try await read { database throws(KeyRegistryError) in try database.standing(of: id) }
    }

    package func advanceCounter(
        of id: KeyID, to counter: UInt32, at time: Int64
    ) async throws(KeyRegistryError) -> CounterAdvance {
        try await use(CounterUse(counter), of: id, at: time)
    }

    package func use(
        _ counter: CounterUse, of id: KeyID, at time: Int64
    ) async throws(KeyRegistryError) -> CounterAdvance {
        try await count { database, deadline throws(KeyRegistryError) in
            try database.use(counter, of: id, at: time, until: deadline)
        }
    }

    package func key(_ id: KeyID) async throws(KeyRegistryError) -> DeviceKey? {
        try await read { database throws(KeyRegistryError) in try database.key(id) }
    }

    package func keys(after: KeyID?, limit: Int) async throws(KeyRegistryError) -> [DeviceKey] {
        try await read { database throws(KeyRegistryError) in try database.keys(after: after, limit: limit) }
    }

    package func enrol(_ key: DeviceKey) async throws(KeyRegistryError) -> Enrolment {
        try await write { database, deadline throws(KeyRegistryError) in try database.enrol(key, until: deadline) }
    }

    package func revoke(_ id: KeyID, reason: String, at time: Int64) async throws(KeyRegistryError) -> Bool {
        try await write { database, deadline throws(KeyRegistryError) in
            try database.revoke(id, reason: reason, at: time, until: deadline)
        }
    }

    package func restore(_ id: KeyID) async throws(KeyRegistryError) -> Bool {
        try await write { database, deadline throws(KeyRegistryError) in try database.restore(id, until: deadline) }
    }

    package func forget(_ id: KeyID) async throws(KeyRegistryError) -> Forgetting {
        try await write { database, deadline throws(KeyRegistryError) in try database.forget(id, until: deadline) }
    }

    func read<Answer: Sendable>(
        _ call: @escaping @Sendable (SQLiteKeyDatabase) throws(KeyRegistryError) -> Answer
    ) async throws(KeyRegistryError) -> Answer {
        try await reading.answer(database.limits) { [database] _ throws(KeyRegistryError) in try call(database) }
    }

    func count<Answer: Sendable>(
        _ call: @escaping @Sendable (SQLiteKeyDatabase, DispatchTime) throws(KeyRegistryError) -> Answer
    ) async throws(KeyRegistryError) -> Answer {
        try await counting.answer(database.limits) { [database] deadline throws(KeyRegistryError) in
            try call(database, deadline)
        }
    }

    func write<Answer: Sendable>(
        _ call: @escaping @Sendable (SQLiteKeyDatabase, DispatchTime) throws(KeyRegistryError) -> Answer
    ) async throws(KeyRegistryError) -> Answer {
        try await writing.answer(database.limits) { [database] deadline throws(KeyRegistryError) in
            try call(database, deadline)
        }
    }
}

extension BlockingThreads {
    /// Runs `call`, or throws the store's error for why it wasn't run.
    ///
    /// - Parameter call: receives the deadline for its waits for locks; the wait for a thread counts towards it.
    func answer<Answer: Sendable>(
        _ limits: SQLiteKeyDatabase.Limits,
        _ call: @escaping @Sendable (DispatchTime) throws(KeyRegistryError) -> Answer
    ) async throws(KeyRegistryError) -> Answer {
        let deadline = DispatchTime.now() + .milliseconds(limits.administrationBusyMilliseconds)
        let result: Result<Answer, KeyRegistryError>
        do throws(BlockingRefusal) {
            result = try await run(within: .milliseconds(limits.administrationBusyMilliseconds)) {
                Result { () throws(KeyRegistryError) in try call(deadline) }
            }
        } catch {
            switch error {
            case .full: throw .queueFull
            case .late: throw .busy
            }
        }
        return try result.get()
    }
}
