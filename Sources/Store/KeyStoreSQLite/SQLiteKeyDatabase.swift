import BlockingWork
package import Dispatch
import GRDB
import Glibc
package import KeyStore
import Synchronization

/// The keys in one SQLite file in WAL mode, shared by the gateway and by `portcullis keys`. Every call runs on the
/// caller's thread and may wait there: `SQLiteKeyRegistry` says which threads these are.
///
/// Four sets of connections separate the reactors from everything that waits for the disk:
///
///     readers         keys, key, standing             WAL reads: no writer delays them
///     counters        advanceCounter, standing        synchronous=NORMAL: a write(2), no fsync
///     administration  enrol, revoke, restore, forget  synchronous=FULL: fsync before they return
///     checkpoints     checkpoint                      moves the WAL into the database file
///
/// SQLite lets one connection write at a time. A counter update may therefore find the lock taken by another connection
/// or process; it then retries until the busy limit has passed, and throws `.busy`. Only `checkpoints` runs
/// checkpoints, so a reactor never does; the owner must call `checkpoint()` regularly.
///
/// Commits survive a crash of the process, since they are in the kernel's page cache. A power cut may lose the newest
/// counters (NORMAL), but never a registration or a revocation (FULL).
package final class SQLiteKeyDatabase: ImmediateKeyRegistry, CounterWindowStore {
    /// The limits of a store, each with its default.
    package struct Limits: Sendable {
        /// How long `key`, `standing` and `advanceCounter` wait in total for a pooled connection and SQLite's lock, on
        /// a reactor. In milliseconds.
        package var busyMilliseconds = 50
        /// The same for enrolment and administration, which don't run on reactors; in `SQLiteKeyRegistry` it also
        /// covers the wait for a thread. In milliseconds.
        package var administrationBusyMilliseconds = 5000
        /// How long a truncating checkpoint waits for readers while it holds the lock that counters need; it must be
        /// less than their own limit. In milliseconds.
        package var checkpointBusyMilliseconds = 20
        /// Connections for counters, and as many for reads: this many calls can run at once. One per reactor is best.
        package var connectionsPerPool = 4
        /// The size from which `checkpoint()` truncates the WAL, whoever writes. Below it, SQLite overwrites the WAL
        /// from its start. In bytes.
        package var walTruncationBytes = 128 << 20
        /// The same for a store that nobody has written to since the checkpoint before. While many write, a WAL keeps
        /// its length: a commit waits for the disk longer if its file grows. In bytes.
        package var walIdleBytes = 16 << 20
        /// By how much one step of `checkpoint()` shortens a longer WAL. In bytes.
        package var walStepBytes = 4 << 20
        /// The number of calls that may wait for each thread of `SQLiteKeyRegistry`. Further calls are refused with
        /// `.queueFull`.
        package var maximumWaitingCalls = BlockingThreads.maximumWaiting
        /// The same for counters, sign-ins and refreshes: all that a gateway has under way at once may wait for a disk
        /// that is slow for a moment.
        package var maximumWaitingRequests = 256
        /// Of the file beside the store that counts uses of refresh tokens; an older one is made anew
        /// (``RefreshPlace``).
        package var maximumRefreshFileAge = Duration.seconds(10)

        package init() {}
    }

    package let path: String
    let limits: Limits
    let readers: SQLiteConnectionPool
    let counters: SQLiteConnectionPool
    let administration: SQLiteConnectionPool
    let checkpoints: SQLiteConnectionPool
    let refreshPlace: RefreshPlace
    /// SQLite's `data_version` when `checkpoint()` last restarted the WAL. The connection's own writes don't change it.
    /// If no other connection has written since, there is nothing to do.
    let begunAnew = Mutex<Int64?>(nil)
    /// Counters, uses of passkeys, and tickets that are kept.
    let unsynced: UnsyncedWrites
    /// Counters and uses of passkeys that wait for the write lock or hold it.
    let countersUnderWay = Atomic<Int>(0)

    /// Opens the store, and creates it with mode 0600 if it doesn't exist.
    ///
    /// - parameter path: the database file. Its directory must exist and be writable: SQLite puts `-wal` and `-shm`
    ///   beside it.
    /// - parameter creating: false for tools, which must not make a store of a mistyped path, nor of an empty file.
    /// - throws: `.unavailable` when the file can't be used, isn't a key store, or was made by a newer version.
    package init(
        path: String, limits: Limits = Limits(), creating: Bool = true, observer: StoreObserver? = nil
    ) throws(KeyRegistryError) {
        let file = try SQLiteStoreFile(path: path, creating: creating)
        self.path = path
        self.limits = limits
        refreshPlace = RefreshPlace(of: path, maximumAge: creating ? limits.maximumRefreshFileAge : nil)
        unsynced = UnsyncedWrites(inWAL: path + "-wal")
        // The order matters: the first connection creates the schema and the WAL, which read-only connections can't do.
        administration = try SQLiteConnectionPool(
            file, access: .durable, size: 1, busyMilliseconds: limits.administrationBusyMilliseconds,
            observer?.watching(.administer))
        try administration.use { try SQLiteSchema.prepare($0, creating: creating) }
        try file.synchronizeDirectory()
        counters = try SQLiteConnectionPool(
            file, access: .committed, size: limits.connectionsPerPool, busyMilliseconds: limits.busyMilliseconds,
            observer?.watching(.gate))
        readers = try SQLiteConnectionPool(
            file, access: .readOnly, size: limits.connectionsPerPool, busyMilliseconds: limits.busyMilliseconds,
            observer?.watching(.read))
        checkpoints = try SQLiteConnectionPool(
            file, access: .committed, size: 1, busyMilliseconds: limits.checkpointBusyMilliseconds,
            observer?.watching(.checkpoint))
        try checkRefreshPlace()
    }

    deinit { leaveRefreshPlace() }

    /// - parameter deadline: for the locks; nil means the busy limit of administration, starting now. The calls below
    ///   use the same.
    package func enrol(
        _ key: DeviceKey, until deadline: DispatchTime? = nil
    ) throws(KeyRegistryError) -> Enrolment {
        try administer(until: deadline) { database in
            guard let known = try DeviceKeyTable.fetch(key.id, from: database) else {
                try DeviceKeyTable.insert(key, into: database)
                return .enrolled
            }
            guard !known.isRevoked else { return .revoked }
            try DeviceKeyTable.renew(known.reenrolled(as: key), in: database)
            return .alreadyEnrolled
        }
    }

    package func key(_ id: KeyID) throws(KeyRegistryError) -> DeviceKey? {
        try readers.use { try DeviceKeyTable.fetch(id, from: $0) }
    }

    package func standing(of id: KeyID) throws(KeyRegistryError) -> KeyStanding? {
        // The connection that committed the last counter still has its pages cached; any other would have to read the
        // changed pages again. If all counter connections are in use, a reader connection is used.
        if let known = try counters.useIfFree({ try DeviceKeyTable.standing(of: id, from: $0) }) { return known }
        return try readers.use { try DeviceKeyTable.standing(of: id, from: $0) }
    }

    package func advanceCounter(
        of id: KeyID, to counter: UInt32, at time: Int64
    ) throws(KeyRegistryError) -> CounterAdvance {
        try use(CounterUse(counter), of: id, at: time)
    }

    package func use(
        _ use: CounterUse, of id: KeyID, at time: Int64
    ) throws(KeyRegistryError) -> CounterAdvance {
        try self.use(use, of: id, at: time, until: nil)
    }

    /// - parameter deadline: nil means the busy limit of a reactor, starting now.
    func use(
        _ use: CounterUse, of id: KeyID, at time: Int64, until deadline: DispatchTime?
    ) throws(KeyRegistryError) -> CounterAdvance {
        countersUnderWay.add(1, ordering: .relaxed)
        defer { countersUnderWay.subtract(1, ordering: .relaxed) }
        return try counters.use(until: deadline) { database in
            // A statement outside a transaction is its own transaction: SQLite takes the lock, compares, updates and
            // commits in it.
            if try DeviceKeyTable.use(use, of: id, at: time, in: database) {
                unsynced.add()
                return .advanced
            }
            guard let known = try DeviceKeyTable.fetch(id, from: database) else { return .unknownKey }
            // The key may have been restored or registered since; then the result states the reason that was true a
            // moment ago.
            guard !known.isRevoked else { return .revoked }
            if use.counter <= known.counter { return .notHigher(stored: known.counter) }
            return use.counter - known.counter > use.maximumRise ? .tooHigh(stored: known.counter) : .revoked
        }
    }

    package func putInForce(_ window: CounterWindow, after former: CounterWindow?) throws(KeyRegistryError) {
        try administer(until: nil) { try DeviceKeyTable.putInForce(window, after: former, in: $0) }
    }

    package func keys(after: KeyID?, limit: Int) throws(KeyRegistryError) -> [DeviceKey] {
        guard limit > 0 else { return [] }
        return try readers.use { try DeviceKeyTable.page(after: after, limit: limit, from: $0) }
    }

    func listing(after: KeyID?, limit: Int) throws(KeyRegistryError) -> [ListedKey] {
        guard limit > 0 else { return [] }
        return try readers.use { try DeviceKeyTable.listing(after: after, limit: limit, from: $0) }
    }

    package func revoke(
        _ id: KeyID, reason: String, at time: Int64, until deadline: DispatchTime? = nil
    ) throws(KeyRegistryError) -> Bool {
        try change(until: deadline) { database in
            _ = try RefreshTable.end(.device(id), at: time, in: database)
            return try DeviceKeyTable.revoke(id, reason: reason, at: time, in: database)
        }
    }

    package func restore(_ id: KeyID, until deadline: DispatchTime? = nil) throws(KeyRegistryError) -> Bool {
        try administer(until: deadline) { try DeviceKeyTable.restore(id, in: $0) }
    }

    package func forget(_ id: KeyID, until deadline: DispatchTime? = nil) throws(KeyRegistryError) -> Forgetting {
        try change(until: deadline) { database in
            guard let known = try DeviceKeyTable.fetch(id, from: database) else { return .unknown }
            guard !known.isRevoked else { return .refusedRevoked }
            try DeviceKeyTable.delete(id, from: database)
            _ = try AccountTable.remove(id, of: nil, in: database)
            return .forgotten
        }
    }

    /// Writes the schema's version again: a page goes to the write-ahead log and to the disk, and nothing changes.
    func tryWriting(until deadline: DispatchTime? = nil) throws(KeyRegistryError) {
        try administer(until: deadline) { try $0.execute(sql: "PRAGMA user_version = \(SQLiteSchema.version)") }
    }

    /// Runs one durable transaction, which holds SQLite's lock as briefly as the disk allows (``UnsyncedWrites``).
    func administer<Result>(
        until deadline: DispatchTime?, _ body: (Database) throws -> Result
    ) throws(KeyRegistryError) -> Result {
        unsynced.flush()
        letCountersGoFirst()
        return try administration.transaction(until: deadline, body)
    }

    /// SQLite's lock isn't fair: a thread that registers one key after the other, with an fsync each, releases it only
    /// for moments that a waiting reactor misses. So whoever holds it for longer first waits for pending counter
    /// updates, for a limited time.
    func letCountersGoFirst() {
        let patience = DispatchTime.now() + .milliseconds(limits.busyMilliseconds)
        while countersUnderWay.load(ordering: .relaxed) > 0, DispatchTime.now() < patience { usleep(100) }
    }
}
