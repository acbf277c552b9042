import FoundationEssentials
import GRDB
import KeyStore

/// The statements on `account`, `passkey` and `account_device`. No function begins a transaction.
enum AccountTable {
    static func fetch(_ id: AccountID, from database: Database) throws -> Account? {
        let statement = try database.cachedStatement(sql: selection + " WHERE account_id = ?")
        return try Row.fetchOne(statement, arguments: [Data(id.bytes)]).map { try account($0, in: database) }
    }

    static func page(after: AccountID?, limit: Int, from database: Database) throws -> [Account] {
        let statement = try database.cachedStatement(
            sql: selection + " WHERE account_id > ? ORDER BY account_id LIMIT ?")
        let rows = try Row.fetchAll(statement, arguments: [Data(after?.bytes ?? []), limit])
        return try rows.map { try account($0, in: database) }
    }

    /// Without passkeys' keys and devices.
    static func standing(of id: AccountID, from database: Database) throws -> AccountStanding? {
        let statement = try database.cachedStatement(
            sql: "SELECT origin, proof, closed_at FROM account WHERE account_id = ?")
        guard let row = try Row.fetchOne(statement, arguments: [Data(id.bytes)]) else { return nil }
        let marks = try Row.fetchAll(
            database.cachedStatement(sql: "SELECT mark FROM passkey WHERE account_id = ?"), arguments: [Data(id.bytes)])
        return AccountStanding(
            id: id, origin: try StoredValue.origin(row[0], proof: row[1]),
            isClosed: try StoredValue.optionalInteger(row[2]) != nil,
            passkeys: Set(try marks.map { try StoredValue.mark($0[0]) }),
            families: try RefreshTable.names(of: id, from: database))
    }

    /// Of no passkey and no family.
    static func bareStanding(of id: AccountID, from database: Database) throws -> AccountStanding? {
        let statement = try database.cachedStatement(
            sql: "SELECT origin, proof, closed_at FROM account WHERE account_id = ?")
        return try statement.first([Data(id.bytes)]) { try bareStanding(of: id, $0) }
    }

    /// - Parameter first: of the columns `origin`, `proof` and `closed_at`.
    private static func bareStanding(of id: AccountID, _ row: Row, at first: Int = 0) throws -> AccountStanding {
        AccountStanding(
            id: id, origin: try StoredValue.origin(row[first], proof: row[first + 1]),
            isClosed: try StoredValue.optionalInteger(row[first + 2]) != nil, passkeys: [])
    }

    /// A passkey with what is needed of its account.
    static func find(_ mark: PasskeyMark, in database: Database) throws -> FoundPasskey? {
        let statement = try database.cachedStatement(
            sql: """
                SELECT p.mark, p.credential_id, p.public_key, p.sign_count, p.flags, p.aaguid, p.attestation, p.label,
                    p.made_at, p.last_used_at, a.account_id, a.origin, a.proof, a.closed_at
                FROM passkey p JOIN account a ON a.account_id = p.account_id WHERE p.mark = ?
                """)
        return try statement.first([Data(mark.bytes)]) { row in
            let found = try passkey(row)
            guard found.isWellFormed else { throw DeviceKeyTable.damage }
            return FoundPasskey(found, of: try bareStanding(of: StoredValue.account(row[10]), row, at: 11))
        }
    }

    static func owner(of mark: PasskeyMark, in database: Database) throws -> AccountID? {
        let statement = try database.cachedStatement(sql: "SELECT account_id FROM passkey WHERE mark = ?")
        return try statement.first([Data(mark.bytes)]) { try StoredValue.account($0[0]) }
    }

    static func owner(of key: KeyID, in database: Database) throws -> AccountID? {
        let statement = try database.cachedStatement(sql: "SELECT account_id FROM account_device WHERE key_id = ?")
        return try statement.first([Data(key.bytes)]) { try StoredValue.account($0[0]) }
    }

    static func count(in database: Database) throws -> Int {
        try Int.fetchOne(database.cachedStatement(sql: "SELECT count(*) FROM account")) ?? 0
    }

    static func unused(madeBefore time: Int64, limit: Int, in database: Database) throws -> [AccountID] {
        let statement = try database.cachedStatement(
            sql: "SELECT account_id FROM account WHERE \(AccountSchema.unused) AND made_at < ? LIMIT ?")
        return try Row.fetchAll(statement, arguments: [time, limit]).map { try StoredValue.account($0[0]) }
    }

    // MARK: Writing

    static func insert(_ account: Account, into database: Database) throws {
        try database.cachedStatement(
            sql: """
                INSERT INTO account (account_id, origin, proof, made_at, last_used_at, closed_at)
                VALUES (?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            Data(account.id.bytes), account.origin.kind.rawValue, account.origin.proof.map { Data($0) },
            account.madeAt, account.lastUsedAt, account.closedAt,
        ])
        for passkey in account.passkeys { try insert(passkey, of: account.id, into: database) }
        for device in account.devices { try insert(device, of: account.id, into: database) }
    }

    static func insert(_ passkey: Passkey, of id: AccountID, into database: Database) throws {
        try database.cachedStatement(
            sql: """
                INSERT INTO passkey (
                    mark, account_id, credential_id, public_key, sign_count, flags, aaguid, attestation, label, made_at,
                    last_used_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            Data(passkey.mark.bytes), Data(id.bytes), Data(passkey.credentialID), Data(passkey.publicKey),
            Int64(passkey.signCount), PasskeyFlags.of(passkey), Data(passkey.aaguid), passkey.attestation,
            passkey.label, passkey.madeAt, passkey.lastUsedAt,
        ])
    }

    /// Its label too, if it is there.
    static func insert(_ device: AccountDevice, of id: AccountID, into database: Database) throws {
        try database.cachedStatement(
            sql: """
                INSERT INTO account_device (key_id, account_id, label, joined_at) VALUES (?1, ?2, ?3, ?4)
                ON CONFLICT DO UPDATE SET label = ?3
                """
        ).execute(arguments: [Data(device.key.bytes), Data(id.bytes), device.label, device.joinedAt])
    }

    /// Records the use of a passkey, by the rule of all stores.
    ///
    /// - Parameter owner: the account that it has to belong to; nil: any.
    static func record(
        _ use: PasskeyUse, of owner: AccountID? = nil, in database: Database
    ) throws -> PasskeySpending {
        let statement = try database.cachedStatement(
            sql: """
                SELECT p.sign_count, a.closed_at, a.account_id
                FROM passkey p JOIN account a ON a.account_id = p.account_id WHERE p.mark = ?
                """)
        let known = try statement.first([Data(use.mark.bytes)]) { row in
            guard let count = UInt32(exactly: try StoredValue.integer(row[0])) else { throw DeviceKeyTable.damage }
            let isClosed = try StoredValue.optionalInteger(row[1]) != nil
            return (use.outcome(isClosed: isClosed, after: count), try StoredValue.account(row[2]))
        }
        guard let (outcome, account) = known, owner ?? account == account else { return .unknown }
        if outcome == .used { try note(use, of: account, in: database) }
        return outcome
    }

    private static func note(_ use: PasskeyUse, of account: AccountID, in database: Database) throws {
        try database.cachedStatement(
            sql: """
                UPDATE passkey SET sign_count = ?, flags = (flags & \(PasskeyFlags.verified)) | ?, last_used_at = ?
                WHERE mark = ?
                """
        ).execute(arguments: [
            Int64(use.signCount), PasskeyFlags.of(use), use.time, Data(use.mark.bytes),
        ])
        try database.cachedStatement(
            sql: "UPDATE account SET last_used_at = max(?1, coalesce(last_used_at, ?1)) WHERE account_id = ?2"
        ).execute(arguments: [use.time, Data(account.bytes)])
    }

    static func close(_ id: AccountID, at time: Int64, in database: Database) throws -> Bool {
        try database.cachedStatement(
            sql: "UPDATE account SET closed_at = coalesce(closed_at, ?) WHERE account_id = ?"
        ).execute(arguments: [time, Data(id.bytes)])
        return database.changesCount == 1
    }

    static func remove(_ mark: PasskeyMark, of id: AccountID, in database: Database) throws -> Bool {
        try database.cachedStatement(sql: "DELETE FROM passkey WHERE mark = ? AND account_id = ?")
            .execute(arguments: [Data(mark.bytes), Data(id.bytes)])
        return database.changesCount == 1
    }

    /// What it has begun ends, too.
    ///
    /// - Parameter id: nil: of whichever account.
    static func remove(_ key: KeyID, of id: AccountID?, in database: Database) throws -> Bool {
        try database.cachedStatement(
            sql: "DELETE FROM account_device WHERE key_id = ?1 AND (?2 IS NULL OR account_id = ?2)"
        ).execute(arguments: [Data(key.bytes), id.map { Data($0.bytes) }])
        guard database.changesCount == 1 else { return false }
        _ = try RefreshTable.end(.device(key), at: SQLiteClock.now(in: database), in: database)
        return true
    }

    /// With all that belongs to it.
    static func delete(_ id: AccountID, from database: Database) throws -> Bool {
        for table in ["passkey", "account_device"] {
            try database.cachedStatement(sql: "DELETE FROM \(table) WHERE account_id = ?")
                .execute(arguments: [Data(id.bytes)])
        }
        try database.cachedStatement(sql: "DELETE FROM account WHERE account_id = ?")
            .execute(arguments: [Data(id.bytes)])
        return database.changesCount == 1
    }

    // MARK: Reading rows

    private static let selection = "SELECT account_id, origin, proof, made_at, last_used_at, closed_at FROM account"

    // One more than there may be: a damaged file may have any number.
    private static let passkeySelection = """
        SELECT mark, credential_id, public_key, sign_count, flags, aaguid, attestation, label, made_at, last_used_at \
        FROM passkey WHERE account_id = ? ORDER BY made_at, mark LIMIT \(AccountLimits.maximumPasskeys + 1)
        """

    private static let deviceSelection = """
        SELECT key_id, label, joined_at FROM account_device WHERE account_id = ? ORDER BY joined_at, key_id \
        LIMIT \(AccountLimits.maximumDevices + 1)
        """

    /// Throws if an expected table or column is missing.
    static func checkStatements(_ database: Database) throws {
        for sql in [selection, passkeySelection, deviceSelection] { _ = try database.makeStatement(sql: sql) }
    }

    private static func account(_ row: Row, in database: Database) throws -> Account {
        let id = try StoredValue.account(row[0])
        let arguments: StatementArguments = [Data(id.bytes)]
        let passkeys = try Row.fetchAll(database.cachedStatement(sql: passkeySelection), arguments: arguments)
        let devices = try Row.fetchAll(database.cachedStatement(sql: deviceSelection), arguments: arguments)
        let account = Account(
            id: id, origin: try StoredValue.origin(row[1], proof: row[2]), madeAt: try StoredValue.integer(row[3]),
            lastUsedAt: try StoredValue.optionalInteger(row[4]), closedAt: try StoredValue.optionalInteger(row[5]),
            passkeys: try passkeys.map(passkey), devices: try devices.map(device))
        guard account.isWellFormed else { throw DeviceKeyTable.damage }
        return account
    }

    private static func passkey(_ row: Row) throws -> Passkey {
        let flags = try StoredValue.integer(row[4])
        guard let count = UInt32(exactly: try StoredValue.integer(row[3])) else { throw DeviceKeyTable.damage }
        return Passkey(
            mark: try StoredValue.mark(row[0]), credentialID: try StoredValue.bytes(row[1]),
            publicKey: try StoredValue.bytes(row[2]), signCount: count,
            isBackupEligible: flags & PasskeyFlags.eligible != 0, isBackedUp: flags & PasskeyFlags.backedUp != 0,
            isUserVerified: flags & PasskeyFlags.verified != 0, aaguid: try StoredValue.bytes(row[5]),
            attestation: try StoredValue.text(row[6]), label: try StoredValue.text(row[7]),
            madeAt: try StoredValue.integer(row[8]), lastUsedAt: try StoredValue.optionalInteger(row[9]))
    }

    private static func device(_ row: Row) throws -> AccountDevice {
        guard let key = KeyID(bytes: try StoredValue.bytes(row[0])) else { throw DeviceKeyTable.damage }
        return AccountDevice(
            key: key, label: try StoredValue.text(row[1]), joinedAt: try StoredValue.integer(row[2]))
    }
}

enum PasskeyFlags {
    static let (eligible, backedUp, verified): (Int64, Int64, Int64) = (1, 2, 4)

    static func of(_ passkey: Passkey) -> Int64 {
        (passkey.isBackupEligible ? eligible : 0) | (passkey.isBackedUp ? backedUp : 0)
            | (passkey.isUserVerified ? verified : 0)
    }

    /// Those that a use sets.
    static func of(_ use: PasskeyUse) -> Int64 {
        (use.isBackupEligible ? eligible : 0) | (use.isBackedUp ? backedUp : 0)
    }
}

extension Statement {
    /// Reads the first row where SQLite has it: a copy of a row is made with a table of its columns' names.
    func first<Value>(_ arguments: StatementArguments, _ read: (Row) throws -> Value) throws -> Value? {
        let rows = try Row.fetchCursor(self, arguments: arguments)
        // The row is valid only as long as its cursor; afterwards every column reads as NULL.
        return try withExtendedLifetime(rows) { try rows.next().map(read) }
    }
}

/// Values of the type and size that they must have. Another one means a damaged file: GRDB's own conversions would
/// trap.
enum StoredValue {
    static func bytes(_ value: DatabaseValue) throws -> [UInt8] {
        guard case .blob(let data) = value.storage else { throw DeviceKeyTable.damage }
        return [UInt8](data)
    }

    static func text(_ value: DatabaseValue) throws -> String {
        guard case .string(let text) = value.storage else { throw DeviceKeyTable.damage }
        return text
    }

    static func integer(_ value: DatabaseValue) throws -> Int64 {
        guard let integer = try optionalInteger(value) else { throw DeviceKeyTable.damage }
        return integer
    }

    static func optionalInteger(_ value: DatabaseValue) throws -> Int64? {
        switch value.storage {
        case .null: nil
        case .int64(let integer): integer
        default: throw DeviceKeyTable.damage
        }
    }

    static func account(_ value: DatabaseValue) throws -> AccountID {
        guard let id = AccountID(bytes: try bytes(value)) else { throw DeviceKeyTable.damage }
        return id
    }

    static func mark(_ value: DatabaseValue) throws -> PasskeyMark {
        guard let mark = PasskeyMark(bytes: try bytes(value)) else { throw DeviceKeyTable.damage }
        return mark
    }

    static func origin(_ value: DatabaseValue, proof: DatabaseValue) throws -> AccountOrigin {
        guard let kind = AccountOrigin.Kind(rawValue: try integer(value)),
            let origin = AccountOrigin(kind, proof: proof.isNull ? nil : try bytes(proof))
        else { throw DeviceKeyTable.damage }
        return origin
    }
}
