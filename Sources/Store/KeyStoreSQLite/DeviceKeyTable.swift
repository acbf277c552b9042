import FoundationEssentials
import GRDB
import KeyStore

/// The statements on `device_key` and `receipt`, and how a row becomes a `DeviceKey`.
///
/// Every statement is prepared once per connection (GRDB's cache). No function begins a transaction.
enum DeviceKeyTable {
    static func fetch(_ id: KeyID, from database: Database) throws -> DeviceKey? {
        let statement = try database.cachedStatement(sql: selection + " WHERE k.key_id = ?")
        return try Row.fetchOne(statement, arguments: [Data(id.bytes)]).map(deviceKey)
    }

    static func page(after: KeyID?, limit: Int, from database: Database) throws -> [DeviceKey] {
        let statement = try database.cachedStatement(
            sql: selection + " WHERE k.key_id > ? ORDER BY k.key_id LIMIT ?")
        // The empty blob sorts before every identifier.
        return try Row.fetchAll(statement, arguments: [Data(after?.bytes ?? []), limit]).map(deviceKey)
    }

    /// As ``page(after:limit:from:)``, but key by key: a record that can't be read is named.
    static func listing(after: KeyID?, limit: Int, from database: Database) throws -> [ListedKey] {
        let statement = try database.cachedStatement(
            sql: "SELECT key_id FROM device_key WHERE key_id > ? AND length(key_id) = 32 ORDER BY key_id LIMIT ?")
        let rows = try Row.fetchAll(statement, arguments: [Data(after?.bytes ?? []), limit])
        let ids = try rows.map { try required(KeyID(bytes: required(bytes($0[0])))) }
        return try ids.compactMap { id in
            do {
                return try fetch(id, from: database).map { .key($0) }
            } catch let error as KeyRegistryError where error == damage {
                return .damaged(id)
            } catch let error as DatabaseError where error.resultCode == .SQLITE_TOOBIG {
                return .damaged(id)
            }
        }
    }

    /// The columns that the check of an assertion needs. A lost or damaged receipt isn't noticed here, because nothing
    /// depends on it.
    static func standing(of id: KeyID, from database: Database) throws -> KeyStanding? {
        let statement = try database.cachedStatement(sql: standing)
        // A cursor's row refers to SQLite's statement. Copying the row would also build a table of its column names.
        let rows = try Row.fetchCursor(statement, arguments: [Data(id.bytes)])
        // The row is valid only as long as its cursor; afterwards every column reads as NULL.
        return try withExtendedLifetime(rows) { try rows.next().map { try keyStanding(id, $0) } }
    }

    /// True if the key is known and not revoked, and its counter could be used.
    static func use(_ use: CounterUse, of id: KeyID, at time: Int64, in database: Database) throws -> Bool {
        try database.cachedStatement(sql: using).execute(arguments: [
            Int64(use.counter), time, Data(id.bytes), use.window.closed, use.reach, Int64(use.maximumRise),
        ])
        return database.changesCount == 1
    }

    /// The rule of `WindowInForce`.
    static func putInForce(_ window: CounterWindow, after former: CounterWindow?, in database: Database) throws {
        try database.cachedStatement(sql: puttingInForce).execute(arguments: [window.size, former?.size])
    }

    static func insert(_ key: DeviceKey, into database: Database) throws {
        try database.cachedStatement(
            sql: "INSERT INTO device_key (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        ).execute(arguments: [
            Data(key.id.bytes), Data(key.publicKeyX963), key.app, key.environment, Data(key.trustRoot),
            Int64(key.counter), key.validationCategory.map { Int64($0) }, key.bundleVersion, key.registeredAt,
            key.lastUsedAt, key.revokedAt, key.revocationReason,
        ])
        try database.cachedStatement(sql: "INSERT INTO receipt (key_id, receipt) VALUES (?, ?)")
            .execute(arguments: [Data(key.id.bytes), Data(key.receipt)])
    }

    /// Its window stays as it is, which `replace` forgets.
    static func renew(_ key: DeviceKey, in database: Database) throws {
        let window = try Row.fetchOne(
            database.cachedStatement(
                sql: "SELECT window_top, window_seen, window_epoch FROM device_key WHERE key_id = ?"),
            arguments: [Data(key.id.bytes)])
        let values = try (0..<3).map { column in try window.flatMap { try integer($0[column]) } }
        try replace(key, in: database)
        try database.cachedStatement(
            sql: "UPDATE device_key SET window_top = ?, window_seen = ?, window_epoch = ? WHERE key_id = ?"
        ).execute(arguments: [values[0], values[1], values[2], Data(key.id.bytes)])
    }

    static func replace(_ key: DeviceKey, in database: Database) throws {
        try delete(key.id, from: database)
        try insert(key, into: database)
    }

    static func delete(_ id: KeyID, from database: Database) throws {
        for table in ["device_key", "receipt"] {
            try database.cachedStatement(sql: "DELETE FROM \(table) WHERE key_id = ?")
                .execute(arguments: [Data(id.bytes)])
        }
    }

    /// True when the key is known, whether or not it was revoked before.
    static func revoke(_ id: KeyID, reason: String, at time: Int64, in database: Database) throws -> Bool {
        // Both expressions read the row from before the statement.
        try database.cachedStatement(
            sql: """
                UPDATE device_key SET revoked_at = coalesce(revoked_at, ?1),
                    revocation_reason = iif(revoked_at IS NULL OR revocation_reason = ?4, ?2, revocation_reason)
                WHERE key_id = ?3
                """
        ).execute(arguments: [time, reason, Data(id.bytes), DeviceKey.erasingReason])
        return database.changesCount == 1
    }

    /// True when the key is known, whether or not it was revoked before.
    static func restore(_ id: KeyID, in database: Database) throws -> Bool {
        // Of an erased key nothing is left to restore: its device may register it again.
        if let known = try fetch(id, from: database), known.isErased {
            try delete(id, from: database)
            return true
        }
        try database.cachedStatement(
            sql: "UPDATE device_key SET revoked_at = NULL, revocation_reason = NULL WHERE key_id = ?"
        ).execute(arguments: [Data(id.bytes)])
        return database.changesCount == 1
    }

    static func revoked(in database: Database) throws -> Set<KeyID> {
        let statement = try database.cachedStatement(
            sql: "SELECT key_id FROM device_key INDEXED BY device_key_revoked WHERE revoked_at IS NOT NULL")
        // Of another length it is nobody's, and doesn't keep the others from being heard of.
        return try Set(Row.fetchAll(statement).compactMap { KeyID(bytes: try required(bytes($0[0]))) })
    }

    static func beingErased(before time: Int64, limit: Int, from database: Database) throws -> [KeyID] {
        let statement = try database.cachedStatement(
            sql: "SELECT key_id FROM device_key WHERE revoked_at < ? AND revocation_reason = ? LIMIT ?")
        return try Row.fetchAll(statement, arguments: [time, DeviceKey.erasingReason, limit])
            .compactMap { KeyID(bytes: try required(bytes($0[0]))) }
    }

    /// Throws if an expected table or column is missing.
    static func checkStatements(_ database: Database) throws {
        _ = try database.makeStatement(sql: selection)
        _ = try database.makeStatement(sql: standing)
        _ = try database.makeStatement(sql: using)
        _ = try database.makeStatement(sql: puttingInForce)
    }
}

extension DeviceKeyTable {
    private static let columns = """
        key_id, public_key, app, environment, trust_root, counter, validation_category, bundle_version, registered_at, \
        last_used_at, revoked_at, revocation_reason
        """

    /// An outer join: a lost receipt is damage to report, and must not make the key look unknown.
    private static let selection = """
        SELECT k.key_id, public_key, app, environment, trust_root, counter, validation_category, bundle_version, \
        registered_at, last_used_at, revoked_at, revocation_reason, receipt \
        FROM device_key k LEFT JOIN receipt r ON r.key_id = k.key_id
        """

    private static let standing = """
        SELECT public_key, app, environment, trust_root, counter, revoked_at,
            revoked_at IS NOT NULL AND revocation_reason IS '\(DeviceKey.erasingReason)',
            (SELECT a.account_id FROM account_device d JOIN account a ON a.account_id = d.account_id
                WHERE d.key_id = device_key.key_id AND a.closed_at IS NULL)
        FROM device_key WHERE key_id = ?
        """

    private static let puttingInForce = """
        UPDATE counter_window SET epoch = epoch + (?1 > min(size, ifnull(?2, size))), size = ?1
        WHERE size <> ?1 OR ?1 > ?2
        """

    /// Whether what is known of the counters below the highest is good: only for that highest, since programs of before
    /// raise it alone, and in its epoch.
    private static let isGood = "window_top = counter AND window_epoch = (SELECT epoch FROM counter_window)"

    /// The rule of `KeyCounters`, in one statement, whose expressions all read the row of before.
    private static let using = """
        UPDATE device_key SET
            window_seen = CASE WHEN ?1 > counter THEN
                CASE WHEN ?1 - counter < \(KeyCounters.depth)
                    THEN (iif(\(isGood), window_seen, \(KeyCounters.all)) << (?1 - counter)) & \(KeyCounters.all)
                    ELSE 0 END
                | CASE WHEN ?1 - counter <= \(KeyCounters.depth) THEN 1 << (?1 - counter - 1) ELSE 0 END
                | ?4
                ELSE window_seen | (1 << (counter - ?1 - 1)) END,
            window_top = max(counter, ?1), window_epoch = (SELECT epoch FROM counter_window),
            counter = max(counter, ?1), last_used_at = ?2
        WHERE key_id = ?3 AND revoked_at IS NULL AND CASE
            WHEN ?1 > counter THEN ?1 - counter <= ?6
            WHEN ?1 < counter AND counter - ?1 < ?5 AND \(isGood)
                THEN (window_seen >> (counter - ?1 - 1)) & 1 = 0
            ELSE 0 END
        """

    /// Reads a row of `selection`. A value of the wrong type or size means a damaged file, and is thrown: GRDB's own
    /// conversions would trap.
    private static func deviceKey(_ row: Row) throws -> DeviceKey {
        guard
            let id = KeyID(bytes: try required(bytes(row[0]))),
            let counter = UInt32(exactly: try required(integer(row[5])))
        else { throw damage }
        return DeviceKey(
            id: id, publicKeyX963: try required(bytes(row[1])), app: try required(text(row[2])),
            environment: try required(text(row[3])), trustRoot: try required(bytes(row[4])), counter: counter,
            receipt: try required(bytes(row[12])), validationCategory: try category(row[6]),
            bundleVersion: try text(row[7]),
            registeredAt: try required(integer(row[8])), lastUsedAt: try integer(row[9]),
            revokedAt: try integer(row[10]), revocationReason: try text(row[11]))
    }

    /// Reads a row of `standing`, as `deviceKey` does.
    private static func keyStanding(_ id: KeyID, _ row: Row) throws -> KeyStanding {
        guard let counter = UInt32(exactly: try required(integer(row[4]))) else { throw damage }
        return KeyStanding(
            id: id, publicKeyX963: try required(bytes(row[0])), app: try required(text(row[1])),
            environment: try required(text(row[2])), trustRoot: try required(bytes(row[3])), counter: counter,
            isRevoked: try integer(row[5]) != nil, isBeingErased: try integer(row[6]) == 1,
            account: try bytes(row[7]).map { try required(AccountID(bytes: $0)) })
    }

    static let damage = KeyRegistryError.unavailable("a record in the key store is damaged")

    private static func required<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw damage }
        return value
    }

    private static func bytes(_ value: DatabaseValue) throws -> [UInt8]? {
        switch value.storage {
        case .null: nil
        case .blob(let data): [UInt8](data)
        default: throw damage
        }
    }

    private static func text(_ value: DatabaseValue) throws -> String? {
        switch value.storage {
        case .null: nil
        case .string(let text): text
        default: throw damage
        }
    }

    private static func integer(_ value: DatabaseValue) throws -> Int64? {
        switch value.storage {
        case .null: nil
        case .int64(let integer): integer
        default: throw damage
        }
    }

    private static func category(_ value: DatabaseValue) throws -> UInt32? {
        guard let integer = try integer(value) else { return nil }
        return try required(UInt32(exactly: integer))
    }
}
