import Dispatch
import GRDB
import Glibc
import KeyStore
import Synchronization

/// A few connections of one kind, each used by one thread at a time.
///
/// Waiting has one deadline per call: it covers the wait for a free connection of the pool and the wait for SQLite's
/// lock. So a reactor never waits longer than the pool's limit, however many threads call at the same time.
final class SQLiteConnectionPool: Sendable {
    /// What a connection may do, and how durable its commits are.
    enum Access {
        case readOnly
        /// Commits survive a crash of the process (`synchronous=NORMAL`).
        case committed
        /// Commits survive a power cut (`synchronous=FULL`).
        case durable
    }

    /// Each permit of `available` corresponds to one connection in `idle`.
    private let available: DispatchSemaphore
    private let idle: Mutex<[SQLiteConnection]>
    private let busyMilliseconds: Int
    private let watch: StoreWatch?

    init(
        _ file: SQLiteStoreFile, access: Access, size: Int, busyMilliseconds: Int, _ watch: StoreWatch? = nil
    ) throws(KeyRegistryError) {
        self.watch = watch
        self.busyMilliseconds = max(0, busyMilliseconds)
        var connections: [SQLiteConnection] = []
        for _ in 0..<max(1, size) {
            connections.append(try SQLiteConnection(file, access: access, busyMilliseconds: self.busyMilliseconds))
        }
        available = DispatchSemaphore(value: connections.count)
        idle = Mutex(connections)
    }

    /// Runs `body` on a connection, outside of any transaction.
    ///
    /// - parameter deadline: for the waits; nil means the pool's limit, starting now.
    /// - throws: `.busy` if the deadline passed before a connection or SQLite's lock was free, otherwise
    ///   `.unavailable`.
    func use<Result>(
        until deadline: DispatchTime? = nil, _ body: (Database) throws -> Result
    ) throws(KeyRegistryError) -> Result {
        let deadline = deadline ?? .now() + .milliseconds(busyMilliseconds)
        return try watched { () throws(KeyRegistryError) in
            guard available.wait(timeout: deadline) == .success else { throw .busy }
            return try useOne(until: deadline, body)
        }
    }

    /// Like `use`, on a connection that is idle now; nil if there is none.
    func useIfFree<Result>(_ body: (Database) throws -> Result) throws(KeyRegistryError) -> Result? {
        let now = DispatchTime.now()
        guard available.wait(timeout: now) == .success else { return nil }
        return try watched { () throws(KeyRegistryError) in
            try useOne(until: now + .milliseconds(busyMilliseconds), body)
        }
    }

    private func watched<Result>(_ call: () throws(KeyRegistryError) -> Result) throws(KeyRegistryError) -> Result {
        guard let watch else { return try call() }
        return try watch.time(call)
    }

    /// The caller holds a permit; this function returns it.
    private func useOne<Result>(
        until deadline: DispatchTime, _ body: (Database) throws -> Result
    ) throws(KeyRegistryError) -> Result {
        defer { available.signal() }
        guard let connection = idle.withLock({ $0.popLast() }) else { throw .busy }
        defer { idle.withLock { $0.append(connection) } }
        return try connection.use(until: deadline, body)
    }

    /// Runs `body` in one transaction that holds the write lock from its beginning, and commits unless it throws.
    func transaction<Result>(
        until deadline: DispatchTime? = nil, _ body: (Database) throws -> Result
    ) throws(KeyRegistryError) -> Result {
        try use(until: deadline) { database in
            var result: Result?
            try database.inTransaction(.immediate) {
                result = try body(database)
                return .commit
            }
            guard let result else { throw KeyRegistryError.unavailable("a transaction ended without a result") }
            return result
        }
    }
}

/// One SQLite connection whose waits for a lock end at the deadline of the call that uses it.
private final class SQLiteConnection: Sendable {
    private let queue: DatabaseQueue
    private let deadline: BusyDeadline

    init(
        _ file: SQLiteStoreFile, access: SQLiteConnectionPool.Access, busyMilliseconds: Int
    ) throws(KeyRegistryError) {
        let deadline = BusyDeadline()
        var configuration = Configuration()
        configuration.readonly = access == .readOnly
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .callback { attempt in deadline.pause(attempt) }
        configuration.prepareDatabase { database in
            try SQLiteLimits.apply(to: database)
            try database.execute(sql: "PRAGMA synchronous = \(access == .durable ? "FULL" : "NORMAL")")
            // Signing keys are secret: deleted data is overwritten.
            if access != .readOnly { try database.execute(sql: "PRAGMA secure_delete = ON") }
            // Checkpoints wait for the disk, so they never happen in the middle of a commit: see `checkpoint()`.
            try database.execute(sql: "PRAGMA wal_autocheckpoint = 0")
        }
        self.deadline = deadline
        deadline.set(.now() + .milliseconds(busyMilliseconds))
        do {
            queue = try DatabaseQueue(path: file.sqlitePath, configuration: configuration)
        } catch {
            throw KeyRegistryError(error)
        }
    }

    func use<Result>(
        until end: DispatchTime, _ body: (Database) throws -> Result
    ) throws(KeyRegistryError) -> Result {
        deadline.set(end)
        do {
            return try queue.writeWithoutTransaction(body)
        } catch {
            throw KeyRegistryError(error)
        }
    }
}

/// The end of the current call on one connection. Set by the thread that holds the connection, and read by SQLite's
/// busy handler on that same thread; atomic, because the handler is a `@Sendable` closure.
private final class BusyDeadline: Sendable {
    private let uptimeNanoseconds = Atomic<UInt64>(0)

    func set(_ end: DispatchTime) {
        uptimeNanoseconds.store(end.uptimeNanoseconds, ordering: .relaxed)
    }

    /// Sleeps briefly, 50 µs at first and never more than 1 ms: a commit of this program holds the lock for some tens
    /// of microseconds, unless it waits for the disk.
    ///
    /// - returns: whether SQLite should retry; false after the deadline.
    func pause(_ attempt: Int) -> Bool {
        let now = DispatchTime.now().uptimeNanoseconds
        let end = uptimeNanoseconds.load(ordering: .relaxed)
        guard now < end else { return false }
        let step = UInt64(min(max(attempt, 0) + 1, 20)) * 50
        usleep(UInt32(min(step, (end - now) / 1000 + 1)))
        return true
    }
}
