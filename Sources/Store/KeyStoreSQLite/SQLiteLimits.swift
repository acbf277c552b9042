import GRDB
import GRDBSQLite

/// The time, in Unix milliseconds, by SQLite's clock.
enum SQLiteClock {
    static let now = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"

    static func now(in database: Database) throws -> Int64 {
        try Int64.fetchOne(database.cachedStatement(sql: "SELECT \(now)")) ?? 0
    }
}

/// What a connection reads at most, whatever the file says.
enum SQLiteLimits {
    /// A text, a blob or a row: `SQLITE_LIMIT_LENGTH`. SQLite refuses a longer one (`SQLITE_TOOBIG`) before it takes
    /// memory for it.
    static let valueBytes = 1_048_576

    static func apply(to database: Database) throws {
        sqlite3_limit(database.sqliteConnection, SQLITE_LIMIT_LENGTH, Int32(valueBytes))
        // A file's own schema has no functions that do anything, and its pages are checked as they are read.
        try database.execute(sql: "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
    }
}
