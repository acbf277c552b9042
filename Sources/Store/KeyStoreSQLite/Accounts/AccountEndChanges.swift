import GRDB
import KeyStore

/// The changes of `account_end` in their order, so that a gateway reads those alone that it hasn't heard of. Triggers
/// write them, so programs do that don't know of it.
///
/// Only the newest ones are kept, and as long as gateways remember ends: who has missed some reads the ends themselves.
/// A change has a random mark, since the numbers begin again in an older copy of the file, and when none is left.
struct AccountEndChanges {
    /// Rows of the table.
    static let maximum = 1_000

    /// Up to which the changes are known.
    struct Position: Equatable {
        let seq, mark: Int64
    }

    /// What has ended, or is there again.
    let subjects: [EndedSubject]
    let position: Position

    /// - Returns: nil if some were missed.
    init?(after known: Position, in database: Database) throws {
        let statement = try database.cachedStatement(
            sql: "SELECT kind, subject, seq, mark FROM account_end_change WHERE seq >= ? ORDER BY seq")
        let rows = try Row.fetchAll(statement, arguments: [known.seq])
        // The first one is the last one of before.
        guard let first = rows.first, let last = rows.last, try Self.position(first) == known else { return nil }
        subjects = try rows.dropFirst().compactMap { try AccountEndTable.subject($0) }
        position = try Self.position(last)
    }

    /// - Returns: nil if there was none.
    static func newest(in database: Database) throws -> Position? {
        let statement = try database.cachedStatement(
            sql: "SELECT kind, subject, seq, mark FROM account_end_change ORDER BY seq DESC LIMIT 1")
        return try statement.first([], position)
    }

    private static func position(_ row: Row) throws -> Position {
        Position(seq: try StoredValue.integer(row[2]), mark: try StoredValue.integer(row[3]))
    }

    /// When the oldest change was, in Unix milliseconds by SQLite's clock.
    static func oldest(in database: Database) throws -> Int64? {
        try Int64.fetchOne(
            database.cachedStatement(sql: "SELECT changed_at FROM account_end_change ORDER BY seq LIMIT 1"))
    }

    /// Those before a time, without gaps among the others.
    static func forget(before time: Int64, in database: Database) throws {
        try database.cachedStatement(
            sql: """
                DELETE FROM account_end_change
                WHERE seq <= (SELECT max(seq) FROM account_end_change WHERE changed_at < ?)
                """
        ).execute(arguments: [time])
    }

    /// - Parameter row: `NEW` or `OLD`.
    static func note(_ row: String) -> String {
        """
        INSERT INTO account_end_change (mark, changed_at, kind, subject)
        VALUES (random(), \(SQLiteClock.now), \(row).kind, \(row).subject);
        DELETE FROM account_end_change WHERE seq <= (SELECT max(seq) FROM account_end_change) - \(maximum);
        """
    }
}
