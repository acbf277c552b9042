import GRDB
package import KeyStore
import Synchronization

/// The revoked keys of a store, for whoever asks again and again: a question costs next to nothing as long as nobody has written.
///
/// Whether something was written is told by SQLite's own counter: no clock is asked, which may jump. It reads on a connection of its own, and no writer can hold it up.
package final class SQLiteRevocations: Sendable {
    private let connection: SQLiteConnectionPool
    /// SQLite's `data_version` at the last answer; it changes with every commit of any other connection.
    private let seen = Mutex<Int64?>(nil)

    package init(of registry: SQLiteKeyRegistry) throws(KeyRegistryError) {
        connection = try SQLiteConnectionPool(
            SQLiteStoreFile(path: registry.path, creating: false), access: .readOnly, size: 1,
            busyMilliseconds: registry.limits.busyMilliseconds)
    }

    /// All keys that are revoked now; nil where the store is as it was at the last answer. After an error the next call starts over.
    package func ifChanged() throws(KeyRegistryError) -> Set<KeyID>? {
        let last = seen.withLock { $0 }
        let answer = try connection.use { database -> (version: Int64?, keys: Set<KeyID>)? in
            // Before the keys: what is written in between shows in the next one.
            let version = try Int64.fetchOne(database.cachedStatement(sql: "PRAGMA data_version"))
            guard version == nil || version != last else { return nil }
            return (version, try DeviceKeyTable.revoked(in: database))
        }
        guard let answer else { return nil }
        seen.withLock { $0 = answer.version }
        return answer.keys
    }
}
