import GRDB
import GRDBSQLite
import KeyStore

/// A statement of the hot path, spoken to in SQLite's own functions.
///
/// GRDB prepares it, caches it and keeps it on its connection's queue. Its arguments, cursors and rows are passed by: for one row of a few
/// columns they cost more than all of SQLite's work. What they do besides is to tell transaction observers, of which there are none here.
struct DirectStatement {
    private let connection: SQLiteConnection?
    private let statement: SQLiteStatement

    /// Runs `body` on the statement. It is reset afterwards, which ends SQLite's transaction: nothing that was read is valid any longer.
    static func use<Result>(
        _ sql: String, on database: Database, _ body: (DirectStatement) throws -> Result
    ) throws -> Result {
        let prepared = try database.cachedStatement(sql: sql)
        return try withExtendedLifetime(prepared) {
            let statement = DirectStatement(
                connection: database.sqliteConnection, statement: prepared.sqliteStatement)
            defer { statement.reset() }
            return try body(statement)
        }
    }

    /// - Parameter index: from 1.
    func bind(_ number: Int64, at index: CInt) throws {
        try check(sqlite3_bind_int64(statement, index, number))
    }

    /// - Parameter index: from 1.
    func bind(_ id: KeyID, at index: CInt) throws {
        // SQLite takes a copy before the call returns.
        let copied = unsafeBitCast(OpaquePointer(bitPattern: -1), to: sqlite3_destructor_type.self)
        try check(
            id.bytes.withUnsafeBytes { sqlite3_bind_blob(statement, index, $0.baseAddress, CInt($0.count), copied) })
    }

    /// True when there is a row to read.
    func step() throws -> Bool {
        switch sqlite3_step(statement) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw failure(code)
        }
    }

    /// How many rows the last change of this connection has changed.
    var changes: Int { Int(sqlite3_changes(connection)) }

    /// Its code says again what `step` has thrown already.
    private func reset() {
        sqlite3_reset(statement)
        sqlite3_clear_bindings(statement)
    }

    private func check(_ code: CInt) throws {
        guard code == SQLITE_OK else { throw failure(code) }
    }

    private func failure(_ code: CInt) -> DatabaseError {
        DatabaseError(
            resultCode: ResultCode(rawValue: code), message: sqlite3_errmsg(connection).map { String(cString: $0) })
    }
}

// The row that `step` has found, by column from 0. A value of the wrong type means a damaged file, and is thrown.
extension DirectStatement {
    func isNull(_ column: CInt) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }

    func integer(_ column: CInt) throws -> Int64 {
        try require(SQLITE_INTEGER, column)
        return sqlite3_column_int64(statement, column)
    }

    func bytes(_ column: CInt) throws -> [UInt8] {
        try require(SQLITE_BLOB, column)
        // Before the count, as SQLite's documentation has it; nil where there are no bytes.
        let start = sqlite3_column_blob(statement, column)
        return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
    }

    func text(_ column: CInt) throws -> String {
        try require(SQLITE_TEXT, column)
        let start = sqlite3_column_text(statement, column)
        let count = Int(sqlite3_column_bytes(statement, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: start == nil ? 0 : count), as: UTF8.self)
    }

    private func require(_ type: CInt, _ column: CInt) throws {
        guard sqlite3_column_type(statement, column) == type else { throw DeviceKeyTable.damage }
    }
}
