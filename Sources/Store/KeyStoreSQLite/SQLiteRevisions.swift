import GRDB
import KeyStore

/// A mark for each part of the store that gateways follow. It changes with every change of that part and with nothing
/// else, whoever writes: triggers change it, so programs do that don't know of it.
///
/// Marks are random: after a restore that went unnoticed, no later state has the mark of one that was seen.
struct SQLiteRevisions: Equatable {
    private(set) var keys: Int64
    private(set) var tokens: Int64
    private(set) var signingKeys: Int64
    /// Accounts and passkeys that have ended.
    private(set) var accountEnds: Int64

    /// Reads four rows.
    init(in database: Database) throws {
        let rows = try Row.fetchAll(database.cachedStatement(sql: Self.selection))
        let marks = try rows.map { row in
            guard case .int64(let mark) = (row[0] as DatabaseValue).storage else { throw DeviceKeyTable.damage }
            return mark
        }
        guard marks.count == 4 else { throw DeviceKeyTable.damage }
        (keys, tokens, signingKeys, accountEnds) = (marks[0], marks[1], marks[2], marks[3])
    }

    private static let selection = "SELECT mark FROM revision WHERE part BETWEEN 1 AND 4 ORDER BY part"

    /// Throws if an expected table or column is missing.
    static func checkStatement(_ database: Database) throws { _ = try database.makeStatement(sql: selection) }

    // MARK: The table and its triggers

    /// After the other tables. Older stores don't have them yet; older programs work with them.
    static func create(in database: Database) throws {
        if try !SQLiteSchemaForm.has("revision", database) { try createTable(in: database) }
        // Programs of before accounts have made the table without the fourth part.
        if try triggers.contains(where: { try !SQLiteSchemaForm.has($0.name, of: "trigger", database) }) {
            try database.execute(sql: "INSERT INTO revision VALUES (4, random()) ON CONFLICT DO NOTHING")
        }
        for trigger in triggers { try database.execute(sql: trigger.sql) }
    }

    private static func createTable(in database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE revision (
                    part INTEGER NOT NULL PRIMARY KEY,
                    mark INTEGER NOT NULL
                ) STRICT;
                INSERT INTO revision VALUES (1, random()), (2, random()), (3, random());
                """)
    }

    struct Trigger {
        let name, sql: String

        fileprivate init(
            _ part: Int, _ table: String, _ event: String, _ action: String, when condition: String,
            further statements: String = ""
        ) {
            name = "\(table)_\(event)"
            sql = """
                CREATE TRIGGER IF NOT EXISTS \(name) AFTER \(action) ON \(table) WHEN \(condition)
                BEGIN UPDATE revision SET mark = random() WHERE part = \(part);\(statements) END
                """
        }
    }

    /// Counters, uses and registrations of keys that aren't revoked change nothing that anybody follows.
    static let triggers =
        [(1, "device_key"), (2, "development_token")].flatMap { part, table in
            [
                Trigger(part, table, "added", "INSERT", when: "NEW.revoked_at IS NOT NULL"),
                Trigger(part, table, "changed", "UPDATE OF revoked_at", when: "OLD.revoked_at IS NOT NEW.revoked_at"),
                Trigger(part, table, "removed", "DELETE", when: "OLD.revoked_at IS NOT NULL"),
            ]
        }
        + [("added", "INSERT"), ("changed", "UPDATE"), ("removed", "DELETE")].map {
            Trigger(3, "signing_key", $0, $1, when: "true")
        }
        + [
            Trigger(4, "account_end", "added", "INSERT", when: "true", further: " " + AccountEndChanges.note("NEW")),
            // A device joins again. The other ends are forgotten only.
            Trigger(
                4, "account_end", "removed", "DELETE", when: "OLD.kind = \(EndedSubject.Kind.departure.rawValue)",
                further: " " + AccountEndChanges.note("OLD")),
        ]
}
