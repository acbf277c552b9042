/// One connection for tools: its calls block the calling thread, one statement after the other, also in transactions of
/// several statements.
///
/// Nothing waits without a limit, neither here nor at the server: not for a lock, not for a statement, not in a
/// transaction whose tool has stopped.
package final class PostgreSQLConnection {
    /// For each statement, in milliseconds, unless its tool has another limit.
    package static let patience = 60_000

    private let connection: LibpqConnection
    private let maximumBytes: Int
    /// For each statement.
    private let milliseconds: Int

    /// - Parameter milliseconds: for each statement; nil: ``patience``.
    package init(_ options: DriverOptions, within milliseconds: Int? = nil) throws(DatabaseError) {
        self.milliseconds = milliseconds ?? Self.patience
        switch LibpqConnection.connect(options.connectionParameters) {
        case .success(let connection): self.connection = connection
        case .failure(let failure): throw .unreachable(failure.text, retryAfterSeconds: 1)
        }
        maximumBytes = options.maximumAnswerBytes
        try run(
            """
            SELECT set_config('search_path', 'pg_catalog', false),
                set_config('default_transaction_isolation', 'read committed', false),
                set_config('lock_timeout', $1::text, false), set_config('statement_timeout', $2::text, false),
                set_config('idle_in_transaction_session_timeout', $2::text, false), \(SQLStatement.waitingForTheDisk)
            """,
            [
                .text(String(min(options.lockMilliseconds, self.milliseconds))),
                // Later than here, so that the server ends only what nobody waits for any more.
                .text(String(self.milliseconds + options.graceMilliseconds)),
            ])
    }

    /// One statement or several without parameters: a script.
    package func run(_ script: String) throws(DatabaseError) {
        _ = try answer(result(script, nil), maximumRows: .max)
    }

    @discardableResult
    package func run(_ statement: SQLStatement, _ values: [SQLValue]) throws(DatabaseError) -> SQLRows {
        try answer(result(statement.text, values), maximumRows: statement.maximumRows)
    }

    /// A statement without a name, for one row.
    @discardableResult
    package func run(_ text: String, _ values: [SQLValue]) throws(DatabaseError) -> SQLRows {
        try answer(result(text, values), maximumRows: .max)
    }

    /// Commits if `body` returns, and rolls back if it throws.
    ///
    /// - Parameter mode: of `BEGIN`, such as `ISOLATION LEVEL REPEATABLE READ READ ONLY`.
    package func transaction<Value>(
        _ mode: String = "", _ body: () throws(DatabaseError) -> Value
    ) throws(DatabaseError) -> Value {
        try run("BEGIN \(mode)")
        let value: Value
        do throws(DatabaseError) {
            value = try body()
        } catch {
            try? run("ROLLBACK")
            throw error
        }
        try run("COMMIT")
        return value
    }

    private func result(_ text: String, _ values: [SQLValue]?) throws(DatabaseError) -> LibpqResult? {
        let deadline = Monotonic.now + Monotonic.nanoseconds(milliseconds: milliseconds)
        let result = connection.runBlocking(text, values, until: deadline)
        guard result != nil || Monotonic.now < deadline else { throw .unknown("it did not come in time") }
        return result
    }

    private func answer(_ result: LibpqResult?, maximumRows: Int) throws(DatabaseError) -> SQLRows {
        guard let result else { throw .unknown(connection.message) }
        switch result.kind {
        case .rows:
            var rows = SQLRows(columns: result.columns)
            guard result.count <= maximumRows else { throw .tooLarge }
            result.append(to: &rows)
            guard rows.bytes <= maximumBytes else { throw .tooLarge }
            return rows
        case .done: return SQLRows(columns: 0)
        default: throw result.error ?? .unknown(connection.message)
        }
    }
}
