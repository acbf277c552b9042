import GRDB
import KeyStore

/// The shape of the database file, and who may open it.
///
/// `application_id` tells a key store from other SQLite files, `user_version` counts the versions of its schema. Opening
/// changes nothing in a file that isn't ours. An older version would be migrated here, in steps from one version to the next;
/// version 1 is the first. A newer one is refused: it may carry a rule, such as a new kind of revocation, that this program
/// would pass over.
enum SQLiteSchema {
    static let version = 1
    /// "PCKS" in ASCII: Portcullis key store.
    static let applicationID = 0x5043_4B53

    /// Makes the schema in an empty file, or checks that the file has this version of it; then turns the WAL on.
    static func prepare(_ database: Database) throws {
        try database.inTransaction(.immediate) {
            if try isEmpty(database) { try create(in: database) }
            try check(database)
            try index(database)
            return .commit
        }
        let mode = try String.fetchOne(database, sql: "PRAGMA journal_mode = WAL")
        guard mode == "wal" else {
            throw KeyRegistryError.unavailable(
                "SQLite can't use a write-ahead log there (journal mode \(mode ?? "unknown"))")
        }
    }

    private static func isEmpty(_ database: Database) throws -> Bool {
        let objects = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_schema") ?? 0
        return try objects == 0 && pragma("application_id", of: database) == 0
            && pragma("user_version", of: database) == 0
    }

    private static func check(_ database: Database) throws {
        guard try pragma("application_id", of: database) == applicationID else {
            throw KeyRegistryError.unavailable("the file is a database of another program")
        }
        let found = try pragma("user_version", of: database)
        guard found == version else {
            throw KeyRegistryError.unavailable(
                "its schema has version \(found), and this program knows version \(version) only")
        }
        // Preparing a statement checks its tables and columns.
        try DeviceKeyTable.checkStatements(database)
    }

    private static func pragma(_ name: String, of database: Database) throws -> Int {
        try Int.fetchOne(database, sql: "PRAGMA \(name)") ?? 0
    }

    /// Who is revoked is asked twice a second: that must not cost a walk over all keys. Stores of before have no index yet, and programs of
    /// before don't mind it.
    private static func index(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE INDEX IF NOT EXISTS device_key_revoked ON device_key (revoked_at) WHERE revoked_at IS NOT NULL
                """)
    }

    /// Receipts are several kilobytes and never change with a counter, so they stand apart: raising a counter then writes
    /// one page.
    private static func create(in database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE device_key (
                    key_id BLOB NOT NULL PRIMARY KEY CHECK (length(key_id) = 32),
                    public_key BLOB NOT NULL,
                    app TEXT NOT NULL,
                    environment TEXT NOT NULL,
                    trust_root BLOB NOT NULL,
                    counter INTEGER NOT NULL CHECK (counter BETWEEN 0 AND 4294967295),
                    validation_category INTEGER,
                    bundle_version TEXT,
                    registered_at INTEGER NOT NULL,
                    last_used_at INTEGER,
                    revoked_at INTEGER,
                    revocation_reason TEXT
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE receipt (
                    key_id BLOB NOT NULL PRIMARY KEY,
                    receipt BLOB NOT NULL
                ) STRICT;
                PRAGMA application_id = \(applicationID);
                PRAGMA user_version = \(version);
                """)
    }
}
