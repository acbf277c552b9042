import GRDB
import GRDBSQLite

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
