import GRDB
import KeyStore

/// The schema of the database file, and the check of files before they are used.
///
/// `application_id` distinguishes a key store from other SQLite files; `user_version` is the version of its schema.
/// Opening never changes the file of another program. An older version would be migrated here, in steps from one
/// version to the next; version 1 is the first. A newer one is refused: it may contain a rule, such as a new kind of
/// revocation, that this program would ignore.
enum SQLiteSchema {
    static let version = 1
    /// "PCKS" in ASCII: Portcullis key store.
    static let applicationID = 0x5043_4B53

    /// Checks that the file has this version of the schema; then enables the WAL.
    ///
    /// - Parameter creating: whether the schema is created in an empty file, which is refused otherwise.
    static func prepare(_ database: Database, creating: Bool) throws {
        try database.inTransaction(.immediate) {
            if try isEmpty(database) {
                guard creating else { throw KeyRegistryError.unavailable("the file is empty: no gateway has used it") }
                try create(in: database)
            }
            // Older stores of this version have neither these tables and triggers nor the index. Older programs work
            // with all of them.
            if try isOfThisVersion(database) { try createAdditions(in: database) }
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

    /// All that a file of an older program lacks.
    static func createAdditions(in database: Database) throws {
        try addWindow(in: database)
        try addWindowInForce(in: database)
        try SigningKeyTable.create(in: database)
        try DevelopmentTokenTable.create(in: database)
        try KeptTicketTable.create(in: database)
        try AccountSchema.create(in: database)
        try RefreshSchema.create(in: database)
        try SQLiteRevisions.create(in: database)
    }

    /// Which counters below the highest were used. Programs before 0.2.0 leave these columns as they are, and raise
    /// the counter alone.
    static func addWindow(in database: Database) throws {
        guard try !keysHave("window_top", in: database) else { return }
        try database.execute(
            sql: """
                ALTER TABLE device_key ADD COLUMN window_top INTEGER;
                ALTER TABLE device_key ADD COLUMN window_seen INTEGER;
                """)
    }

    /// The window in force. What was known of counters before is of no epoch, and so isn't good.
    private static func addWindowInForce(in database: Database) throws {
        guard try !keysHave("window_epoch", in: database) else { return }
        try database.execute(
            sql: """
                ALTER TABLE device_key ADD COLUMN window_epoch INTEGER;
                CREATE TABLE counter_window (
                    singleton INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
                    size INTEGER NOT NULL,
                    epoch INTEGER NOT NULL
                ) STRICT;
                INSERT INTO counter_window VALUES (1, 0, 0);
                """)
    }

    private static func keysHave(_ column: String, in database: Database) throws -> Bool {
        try database.columns(in: "device_key").contains { $0.name == column }
    }

    private static func isEmpty(_ database: Database) throws -> Bool {
        let objects = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_schema") ?? 0
        return try objects == 0 && pragma("application_id", of: database) == 0
            && pragma("user_version", of: database) == 0
    }

    private static func check(_ database: Database) throws {
        try checkIdentity(of: database)
        // Preparing a statement checks its tables and columns.
        try DeviceKeyTable.checkStatements(database)
        try DevelopmentTokenTable.checkStatements(database)
        try KeptTicketTable.checkStatements(database)
        try AccountTable.checkStatements(database)
        try RefreshTable.checkStatements(database)
        try SQLiteRevisions.checkStatement(database)
    }

    /// Throws unless the file is a key store of this version. Reads only.
    static func checkIdentity(of database: Database) throws {
        guard try pragma("application_id", of: database) == applicationID else {
            throw KeyRegistryError.unavailable("the file is a database of another program")
        }
        let found = try pragma("user_version", of: database)
        guard found == version else {
            throw KeyRegistryError.unavailable(
                "its schema has version \(found), and this program knows version \(version) only")
        }
    }

    private static func isOfThisVersion(_ database: Database) throws -> Bool {
        try pragma("application_id", of: database) == applicationID && pragma("user_version", of: database) == version
    }

    private static func pragma(_ name: String, of database: Database) throws -> Int {
        try Int.fetchOne(database, sql: "PRAGMA \(name)") ?? 0
    }

    /// The revoked keys are read after each revocation, which must not scan all keys.
    private static func index(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE INDEX IF NOT EXISTS device_key_revoked ON device_key (revoked_at) WHERE revoked_at IS NOT NULL
                """)
    }

    /// Receipts take several kilobytes and don't change with a counter. They have their own table, so raising a counter
    /// writes only one page.
    static func create(in database: Database) throws {
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
