import FoundationEssentials
import GRDB
import KeyStore

/// The tables of accounts, and what has ended of them. Older stores don't have them yet. Older programs work with them:
/// they admit nobody by an account.
enum AccountSchema {
    static let tables = ["account", "passkey", "account_device", "account_end", "account_end_change"]

    /// The part of ``Account/isUnused(madeBefore:)`` that an index can have.
    static let unused =
        "origin = \(AccountOrigin.Kind.open.rawValue) AND last_used_at IS NULL AND closed_at IS NULL"

    /// The indexes, by name, table, and columns with their condition.
    static let indexes = [
        ("passkey_account", "passkey", "(account_id)"), ("account_device_account", "account_device", "(account_id)"),
        ("account_unused", "account", "(made_at) WHERE \(unused)"),
        ("account_end_time", "account_end", "(ended_at)"),
    ]

    /// flags: 1 eligible for backups, 2 backed up, 4 the user was verified when it was made.
    static func create(in database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS account (
                    account_id BLOB NOT NULL PRIMARY KEY CHECK (length(account_id) = \(AccountID.length)),
                    origin INTEGER NOT NULL,
                    proof BLOB,
                    made_at INTEGER NOT NULL,
                    last_used_at INTEGER,
                    closed_at INTEGER
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE IF NOT EXISTS passkey (
                    mark BLOB NOT NULL PRIMARY KEY CHECK (length(mark) = \(PasskeyMark.length)),
                    account_id BLOB NOT NULL,
                    credential_id BLOB NOT NULL,
                    public_key BLOB NOT NULL,
                    sign_count INTEGER NOT NULL CHECK (sign_count BETWEEN 0 AND 4294967295),
                    flags INTEGER NOT NULL CHECK (flags BETWEEN 0 AND 7),
                    aaguid BLOB NOT NULL,
                    attestation TEXT NOT NULL,
                    label TEXT NOT NULL,
                    made_at INTEGER NOT NULL,
                    last_used_at INTEGER
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE IF NOT EXISTS account_device (
                    key_id BLOB NOT NULL PRIMARY KEY CHECK (length(key_id) = \(KeyID.length)),
                    account_id BLOB NOT NULL,
                    label TEXT NOT NULL,
                    joined_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE IF NOT EXISTS account_end (
                    kind INTEGER NOT NULL,
                    subject BLOB NOT NULL,
                    ended_at INTEGER NOT NULL,
                    PRIMARY KEY (kind, subject)
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE IF NOT EXISTS account_end_change (
                    seq INTEGER NOT NULL PRIMARY KEY,
                    mark INTEGER NOT NULL,
                    changed_at INTEGER NOT NULL,
                    kind INTEGER NOT NULL,
                    subject BLOB NOT NULL
                ) STRICT;
                """)
        for (name, table, columns) in indexes {
            try database.execute(sql: "CREATE INDEX IF NOT EXISTS \(name) ON \(table) \(columns)")
        }
    }
}

/// Accounts that were closed or removed, passkeys and devices that were removed, and families of refresh tokens that
/// were ended: what was signed in with them has ended.
enum AccountEndTable {
    // As EndedSubject.Kind.
    private static let (account, passkey, departure, family) = (1, 2, 3, 4)

    static func note(_ id: AccountID, at time: Int64, in database: Database) throws {
        try note(account, id.bytes, at: time, in: database)
    }

    static func note(_ mark: PasskeyMark, at time: Int64, in database: Database) throws {
        try note(passkey, mark.bytes, at: time, in: database)
    }

    static func note(_ ended: RefreshFamilyEnd, at time: Int64, in database: Database) throws {
        try note(family, ended.bytes, at: time, in: database)
    }

    /// Of an account's families: clients end them.
    ///
    /// - Parameter time: now, as that with which they are noted.
    static func forgetOldest(of id: AccountID, at time: Int64, in database: Database) throws {
        let after = id.bytes + [UInt8](repeating: 0xFF, count: RefreshFamilyID.length)
        try database.cachedStatement(
            sql: """
                DELETE FROM account_end WHERE kind = \(family) AND subject IN (
                    SELECT subject FROM (
                        SELECT subject, ended_at, row_number() OVER (ORDER BY ended_at DESC, subject DESC) AS place
                        FROM account_end WHERE kind = \(family) AND subject > ? AND subject <= ?)
                    WHERE place > \(RefreshLimits.maximumRecentEnds)
                        OR place > \(RefreshLimits.maximumEnds) AND ended_at < ?)
                """
        ).execute(arguments: [Data(id.bytes), Data(after), time - RefreshLimits.recentMilliseconds])
    }

    static func note(_ gone: DeviceDeparture, at time: Int64, in database: Database) throws {
        try note(departure, gone.bytes, at: time, in: database)
    }

    /// The latest time counts: gateways look for what is new.
    private static func note(_ kind: Int, _ subject: [UInt8], at time: Int64, in database: Database) throws {
        try forget(kind, subject, in: database)
        try database.cachedStatement(sql: "INSERT INTO account_end (kind, subject, ended_at) VALUES (?, ?, ?)")
            .execute(arguments: [kind, Data(subject), time])
    }

    /// It has joined again.
    static func forget(_ back: DeviceDeparture, in database: Database) throws {
        try forget(departure, back.bytes, in: database)
    }

    private static func forget(_ kind: Int, _ subject: [UInt8], in database: Database) throws {
        try database.cachedStatement(sql: "DELETE FROM account_end WHERE kind = ? AND subject = ?")
            .execute(arguments: [kind, Data(subject)])
    }

    static func has(_ id: AccountID, in database: Database) throws -> Bool {
        try has(account, id.bytes, in: database)
    }

    static func has(_ mark: PasskeyMark, in database: Database) throws -> Bool {
        try has(passkey, mark.bytes, in: database)
    }

    private static func has(_ kind: Int, _ subject: [UInt8], in database: Database) throws -> Bool {
        let statement = try database.cachedStatement(sql: "SELECT 1 FROM account_end WHERE kind = ? AND subject = ?")
        return try Row.fetchOne(statement, arguments: [kind, Data(subject)]) != nil
    }

    /// Of what isn't there again.
    static func removals(
        after last: AccountRemoval?, limit: Int, in database: Database
    ) throws -> [AccountRemoval] {
        let (kind, subject): (Int, [UInt8]) =
            switch last?.subject {
            case nil: (0, [])
            case .account(let id): (account, id.bytes)
            case .passkey(let mark): (passkey, mark.bytes)
            }
        let statement = try database.cachedStatement(
            sql: """
                SELECT kind, subject, ended_at FROM account_end
                WHERE (kind, subject) > (?, ?) AND (
                    kind = \(account) AND length(subject) = \(AccountID.length)
                        AND subject NOT IN (SELECT account_id FROM account)
                    OR kind = \(passkey) AND length(subject) = \(PasskeyMark.length)
                        AND subject NOT IN (SELECT mark FROM passkey))
                ORDER BY kind, subject LIMIT ?
                """)
        return try Row.fetchAll(statement, arguments: [kind, Data(subject), limit]).map { row in
            let time = try StoredValue.integer(row[2])
            return try StoredValue.integer(row[0]) == Int64(account)
                ? AccountRemoval(.account(try StoredValue.account(row[1])), at: time)
                : AccountRemoval(.passkey(try StoredValue.mark(row[1])), at: time)
        }
    }

    static func hasEnds(before time: Int64, in database: Database) throws -> Bool {
        let statement = try database.cachedStatement(
            sql: """
                SELECT 1 FROM account_end
                WHERE ended_at < ? AND NOT (kind = \(account) AND subject IN (SELECT account_id FROM account)) LIMIT 1
                """)
        return try Row.fetchOne(statement, arguments: [time]) != nil
    }

    /// But for closed accounts that are there; the oldest, so that the transaction is short.
    static func forget(before time: Int64, in database: Database) throws {
        try database.cachedStatement(
            sql: """
                DELETE FROM account_end WHERE (kind, subject) IN (
                    SELECT kind, subject FROM account_end
                    WHERE ended_at < ? AND NOT (kind = \(account) AND subject IN (SELECT account_id FROM account))
                    ORDER BY ended_at LIMIT ?)
                """
        ).execute(arguments: [time, AccountLimits.maximumExpired])
    }

    static func has(_ ended: EndedSubject, in database: Database) throws -> Bool {
        try has(Int(ended.kind.rawValue), ended.bytes, in: database)
    }

    /// Of a kind that later programs know alone, nobody hears here.
    static func page(
        since time: Int64, after last: EndedSubject?, in database: Database
    ) throws -> [EndedSubject] {
        let statement = try database.cachedStatement(
            sql: """
                SELECT kind, subject FROM account_end
                WHERE ended_at >= ? AND kind BETWEEN \(account) AND \(family) AND (kind, subject) > (?, ?)
                ORDER BY kind, subject LIMIT \(endsAtOnce)
                """)
        let arguments: StatementArguments = [time, last?.kind.rawValue ?? 0, Data(last?.bytes ?? [])]
        return try Row.fetchAll(statement, arguments: arguments).compactMap { try subject($0) }
    }

    private static let endsAtOnce = 10_000

    /// Of the first two columns.
    static func subject(_ row: Row) throws -> EndedSubject? {
        let bytes = try StoredValue.bytes(row[1])
        return EndedSubject.Kind(rawValue: try StoredValue.integer(row[0])).map { EndedSubject($0, bytes) }
    }
}
