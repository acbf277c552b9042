import BlockingWork
import GRDB
package import KeyStore
import Synchronization

/// The revocations of a store, made for polling: a call is almost free as long as nothing was written.
///
/// SQLite's change counter shows whether something was written; a clock could jump. This type has its own connection and thread, so neither
/// a writer nor a call that waits for the disk delays it.
package final class SQLiteRevocations: RevocationSource {
    private let connection: SQLiteConnectionPool
    /// SQLite's `data_version` at the last answer; it changes with every commit of any other connection.
    private let seen = Mutex<Int64?>(nil)
    private let thread: BlockingThreads
    private let limits: SQLiteKeyDatabase.Limits

    package convenience init(of registry: SQLiteKeyRegistry) throws(KeyRegistryError) {
        try self.init(of: registry.database)
    }

    init(of database: SQLiteKeyDatabase) throws(KeyRegistryError) {
        limits = database.limits
        thread = BlockingThreads("keys-revoked", maximumWaiting: limits.maximumWaitingCalls)
        connection = try SQLiteConnectionPool(
            SQLiteStoreFile(path: database.path, creating: false), access: .readOnly, size: 1,
            busyMilliseconds: limits.busyMilliseconds)
    }

    /// All current revocations; nil if the store hasn't changed since the last answer. After an error the next call starts over.
    package func ifChanged() async throws(KeyRegistryError) -> StoreRevocations? {
        try await thread.answer(limits) { [self] _ throws(KeyRegistryError) in try look() }
    }

    /// The same, on the caller's thread.
    func look() throws(KeyRegistryError) -> StoreRevocations? {
        let last = seen.withLock { $0 }
        let answer = try connection.use { database -> (version: Int64?, revocations: StoreRevocations)? in
            // Read before the rest, so that the next call notices what is written in between.
            let version = try Int64.fetchOne(database.cachedStatement(sql: "PRAGMA data_version"))
            guard version == nil || version != last else { return nil }
            var revocations = StoreRevocations(keys: try DeviceKeyTable.revoked(in: database))
            revocations.grants = try DevelopmentTokenTable.revoked(in: database)
            revocations.signingKeys = try SigningKeyTable.keys(in: database)
            return (version, revocations)
        }
        guard let answer else { return nil }
        seen.withLock { $0 = answer.version }
        return answer.revocations
    }
}
