import FoundationEssentials
import GRDB
import KeyStore

/// The tables of families of refresh tokens. Older stores don't have them yet. Older programs work with them: they use
/// no family, and what began one may be gone when this program looks again.
enum RefreshSchema {
    static let tables = ["refresh_family", "refresh_home"]

    /// The indexes, by name, table and columns.
    static let indexes = [
        // Without `used_at`: each use would change it, and an account has few families.
        ("refresh_family_account", "refresh_family", "(account_id)"),
        ("refresh_family_beginner", "refresh_family", "(beginner)"),
        ("refresh_family_expires", "refresh_family", "(expires_at)"),
    ]

    /// `refresh_home` has one row: which history of the families this is, and how often one of them was used or ended
    /// in it (`RefreshPlace`).
    static func create(in database: Database) throws {
        let isNew = try !SQLiteSchemaForm.has("refresh_home", database)
        try database.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS refresh_family (
                    family_id BLOB NOT NULL PRIMARY KEY CHECK (length(family_id) = \(RefreshFamilyID.length)),
                    account_id BLOB NOT NULL,
                    beginner_kind INTEGER NOT NULL,
                    beginner BLOB NOT NULL,
                    key BLOB NOT NULL,
                    hash BLOB NOT NULL,
                    last_hash BLOB,
                    sealed BLOB,
                    last_expires_at INTEGER,
                    repeated_late INTEGER NOT NULL DEFAULT 0,
                    began_at INTEGER NOT NULL,
                    used_at INTEGER NOT NULL,
                    expires_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE IF NOT EXISTS refresh_home (
                    singleton INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
                    history BLOB NOT NULL,
                    changes INTEGER NOT NULL
                ) STRICT;
                """)
        if isNew {
            try database.execute(
                sql: "INSERT INTO refresh_home VALUES (1, randomblob(\(RefreshHistory.length)), 0)")
        }
        for (name, table, columns) in indexes {
            try database.execute(sql: "CREATE INDEX IF NOT EXISTS \(name) ON \(table) \(columns)")
        }
    }
}

/// The row of `refresh_home`.
struct RefreshHistory: Equatable {
    static let length = 16

    let id: [UInt8]
    let changes: Int64
}

/// The statements on the tables. No function begins a transaction.
enum RefreshTable {
    static func fetch(_ id: RefreshFamilyID, from database: Database) throws -> RefreshFamily? {
        let statement = try database.cachedStatement(sql: selection + " WHERE family_id = ?")
        return try statement.first([Data(id.bytes)], family)
    }

    /// Those that one more leaves no room for: none below ``RefreshLimits/maximumFamilies``.
    static func idle(of account: AccountID, from database: Database) throws -> [RefreshFamilyID] {
        let statement = try database.cachedStatement(
            sql: """
                SELECT family_id FROM refresh_family WHERE account_id = ?
                ORDER BY used_at DESC, family_id DESC LIMIT -1 OFFSET \(RefreshLimits.maximumFamilies - 1)
                """)
        return try Row.fetchAll(statement, arguments: [Data(account.bytes)]).map(name)
    }

    static func all(of account: AccountID, from database: Database) throws -> [RefreshFamily] {
        let statement = try database.cachedStatement(
            sql: selection + " WHERE account_id = ? ORDER BY used_at, family_id")
        return try Row.fetchAll(statement, arguments: [Data(account.bytes)]).map(family)
    }

    static func names(of account: AccountID, from database: Database) throws -> Set<RefreshFamilyID> {
        let statement = try database.cachedStatement(sql: "SELECT family_id FROM refresh_family WHERE account_id = ?")
        return Set(try Row.fetchAll(statement, arguments: [Data(account.bytes)]).map(name))
    }

    static func insert(_ family: RefreshFamily, into database: Database) throws {
        try database.cachedStatement(
            sql: """
                INSERT INTO refresh_family (
                    family_id, account_id, beginner_kind, beginner, key, hash, last_hash, sealed, last_expires_at,
                    repeated_late, began_at, used_at, expires_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            Data(family.id.bytes), Data(family.account.bytes), family.beginner.kind.rawValue,
            Data(family.beginner.bytes), Data(family.key), Data(family.hash), family.last.map { Data($0.hash) },
            family.last.map { Data($0.sealed) }, family.last?.expiresAt,
            family.last?.wasRepeatedLate ?? false, family.beganAt, family.usedAt, family.expiresAt,
        ])
    }

    /// All that a use changes.
    static func update(_ family: RefreshFamily, in database: Database) throws {
        try database.cachedStatement(
            sql: """
                UPDATE refresh_family SET hash = ?, last_hash = ?, sealed = ?, last_expires_at = ?,
                    repeated_late = ?, used_at = ?, expires_at = ?
                WHERE family_id = ?
                """
        ).execute(arguments: [
            Data(family.hash), family.last.map { Data($0.hash) }, family.last.map { Data($0.sealed) },
            family.last?.expiresAt, family.last?.wasRepeatedLate ?? false, family.usedAt, family.expiresAt,
            Data(family.id.bytes),
        ])
    }

    /// Of all that end, it is noted for what was signed in by them.
    ///
    /// - Returns: how many have ended.
    static func end(_ families: RefreshEnding, at time: Int64, in database: Database) throws -> Int {
        let (condition, subject) = condition(families)
        let arguments: StatementArguments = subject.map { [Data($0)] } ?? []
        let ended = try Row.fetchAll(
            database.cachedStatement(sql: "SELECT family_id, account_id FROM refresh_family" + condition),
            arguments: arguments
        ).map { RefreshFamilyEnd(of: try name($0), from: try StoredValue.account($0[1])) }
        guard !ended.isEmpty else { return 0 }
        try note(ended, at: time, in: database)
        try database.cachedStatement(sql: "DELETE FROM refresh_family" + condition).execute(arguments: arguments)
        try noteChange(in: database)
        return ended.count
    }

    /// The same for the first families behind a name, in the order of names.
    ///
    /// - Returns: their names; none behind the last one.
    static func endPage(
        after last: RefreshFamilyID?, at time: Int64, in database: Database
    ) throws -> [RefreshFamilyID] {
        let begin = Data(last?.bytes ?? [])
        let page = try Row.fetchAll(
            database.cachedStatement(
                sql: "SELECT family_id, account_id FROM refresh_family WHERE family_id > ? ORDER BY family_id LIMIT ?"),
            arguments: [begin, RefreshLimits.maximumExpired]
        ).map(end)
        guard let end = page.last?.family else { return [] }
        try note(page, at: time, in: database)
        try database.cachedStatement(sql: "DELETE FROM refresh_family WHERE family_id > ? AND family_id <= ?")
            .execute(arguments: [begin, Data(end.bytes)])
        try noteChange(in: database)
        return page.map(\.family)
    }

    /// Gateways look for what is new, whatever clock the time is of.
    private static func note(_ families: [RefreshFamilyEnd], at time: Int64, in database: Database) throws {
        let now = try SQLiteClock.now(in: database)
        for family in families { try AccountEndTable.note(family, at: max(time, now), in: database) }
        for account in Set(families.map(\.account)) {
            try AccountEndTable.forgetOldest(of: account, at: now, in: database)
        }
    }

    private static func end(_ row: Row) throws -> RefreshFamilyEnd {
        RefreshFamilyEnd(of: try name(row), from: try StoredValue.account(row[1]))
    }

    private static func condition(_ families: RefreshEnding) -> (String, subject: [UInt8]?) {
        switch families {
        case .family(let id): (" WHERE family_id = ?", id.bytes)
        case .account(let id): (" WHERE account_id = ?", id.bytes)
        case .passkey(let mark):
            (" WHERE beginner = ? AND beginner_kind = \(RefreshBeginner.Kind.passkey.rawValue)", mark.bytes)
        case .device(let key):
            (" WHERE beginner = ? AND beginner_kind = \(RefreshBeginner.Kind.device.rawValue)", key.bytes)
        case .all: ("", nil)
        }
    }

    static func hasExpired(at time: Int64, in database: Database) throws -> Bool {
        let statement = try database.cachedStatement(sql: "SELECT 1 FROM refresh_family WHERE expires_at <= ? LIMIT 1")
        return try Row.fetchOne(statement, arguments: [time]) != nil
    }

    static func removeExpired(at time: Int64, in database: Database) throws -> Int {
        try database.cachedStatement(
            sql: """
                DELETE FROM refresh_family WHERE family_id IN (
                    SELECT family_id FROM refresh_family WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)
                """
        ).execute(arguments: [time, RefreshLimits.maximumExpired])
        return database.changesCount
    }

    // MARK: Their history

    static func history(in database: Database) throws -> RefreshHistory {
        let statement = try database.cachedStatement(sql: "SELECT history, changes FROM refresh_home")
        guard let history = try statement.first([], history) else { throw DeviceKeyTable.damage }
        return history
    }

    private static func history(_ row: Row) throws -> RefreshHistory {
        RefreshHistory(id: try StoredValue.bytes(row[0]), changes: try StoredValue.integer(row[1]))
    }

    /// With the number of an account's families: what a further one of it needs, in one statement.
    static func history(
        countingFamiliesOf account: AccountID, in database: Database
    ) throws -> (history: RefreshHistory, count: Int64) {
        let statement = try database.cachedStatement(
            sql: """
                SELECT history, changes, (SELECT count(*) FROM refresh_family WHERE account_id = ?) FROM refresh_home
                """)
        let found = try statement.first([Data(account.bytes)]) { (try history($0), try StoredValue.integer($0[2])) }
        guard let found else { throw DeviceKeyTable.damage }
        return found
    }

    static func noteChange(in database: Database) throws {
        try database.cachedStatement(sql: "UPDATE refresh_home SET changes = changes + 1").execute()
    }

    /// Without notes: nobody knows what the families were used for.
    static func beginAnew(in database: Database) throws {
        try database.execute(
            sql: """
                DELETE FROM refresh_family;
                UPDATE refresh_home SET history = randomblob(\(RefreshHistory.length)), changes = 0;
                """)
    }

    static func isEmpty(in database: Database) throws -> Bool {
        try Row.fetchOne(database.cachedStatement(sql: "SELECT 1 FROM refresh_family LIMIT 1")) == nil
    }

    // MARK: Reading rows

    private static let selection = """
        SELECT family_id, account_id, beginner_kind, beginner, key, hash, last_hash, sealed, repeated_late, \
        began_at, used_at, expires_at, last_expires_at FROM refresh_family
        """

    /// Throws if an expected table or column is missing.
    static func checkStatements(_ database: Database) throws {
        for sql in [selection, "SELECT history, changes FROM refresh_home"] {
            _ = try database.makeStatement(sql: sql)
        }
    }

    private static func name(_ row: Row) throws -> RefreshFamilyID {
        guard let id = RefreshFamilyID(bytes: try StoredValue.bytes(row[0])) else { throw DeviceKeyTable.damage }
        return id
    }

    private static func family(_ row: Row) throws -> RefreshFamily {
        guard let kind = RefreshBeginner.Kind(rawValue: try StoredValue.integer(row[2])),
            let beginner = RefreshBeginner(kind, bytes: try StoredValue.bytes(row[3]))
        else { throw DeviceKeyTable.damage }
        let last =
            (row[6] as DatabaseValue).isNull
            ? nil
            : RefreshFamily.LastUse(
                hash: try StoredValue.bytes(row[6]), sealed: try StoredValue.bytes(row[7]),
                expiresAt: try StoredValue.integer(row[12]), wasRepeatedLate: try StoredValue.integer(row[8]) != 0)
        let family = RefreshFamily(
            id: try name(row), account: try StoredValue.account(row[1]), beginner: beginner,
            key: try StoredValue.bytes(row[4]), hash: try StoredValue.bytes(row[5]), last: last,
            beganAt: try StoredValue.integer(row[9]), usedAt: try StoredValue.integer(row[10]),
            expiresAt: try StoredValue.integer(row[11]))
        guard family.isWellFormed else { throw DeviceKeyTable.damage }
        return family
    }
}
