import FoundationEssentials
import GRDB
import KeyStore

/// The statements on `development_token` and `development_device`. No function begins a transaction.
enum DevelopmentTokenTable {
    /// Older stores don't have these tables yet. Older programs work with them: they accept no development tokens.
    static func create(in database: Database) throws {
        let places = DevelopmentToken.largestDeviceLimit
        try database.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS development_token (
                    token_hash BLOB NOT NULL PRIMARY KEY CHECK (length(token_hash) = 32),
                    id TEXT NOT NULL UNIQUE,
                    name TEXT NOT NULL,
                    routes TEXT,
                    maximum_devices INTEGER NOT NULL CHECK (maximum_devices BETWEEN 1 AND \(places)),
                    issued_at INTEGER NOT NULL,
                    expires_at INTEGER NOT NULL,
                    revoked_at INTEGER,
                    last_used_at INTEGER
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE IF NOT EXISTS development_device (
                    token_hash BLOB NOT NULL,
                    device BLOB NOT NULL CHECK (length(device) = 32),
                    first_used_at INTEGER NOT NULL,
                    last_used_at INTEGER NOT NULL,
                    PRIMARY KEY (token_hash, device)
                ) STRICT, WITHOUT ROWID;
                """)
    }

    static func fetch(_ hash: DevelopmentTokenHash, from database: Database) throws -> DevelopmentToken? {
        let statement = try database.cachedStatement(sql: selection + " WHERE token_hash = ?")
        return try Row.fetchOne(statement, arguments: [Data(hash.bytes)]).map(token)
    }

    static func fetch(_ id: DevelopmentTokenID, from database: Database) throws -> DevelopmentToken? {
        let statement = try database.cachedStatement(sql: selection + " WHERE id = ?")
        return try Row.fetchOne(statement, arguments: [id.text]).map(token)
    }

    static func all(from database: Database) throws -> [DevelopmentToken] {
        let statement = try database.cachedStatement(sql: selection + " ORDER BY issued_at, id")
        return try Row.fetchAll(statement).map(token)
    }

    static func knows(
        _ device: [UInt8], of hash: DevelopmentTokenHash, in database: Database
    ) throws -> Bool {
        let statement = try database.cachedStatement(
            sql: "SELECT 1 FROM development_device WHERE token_hash = ? AND device = ?")
        return try Row.fetchOne(statement, arguments: [Data(hash.bytes), Data(device)]) != nil
    }

    /// Records a use of a token. The device's first use counts against the device limit.
    static func note(
        _ device: [UInt8], of hash: DevelopmentTokenHash, at time: Int64, in database: Database
    ) throws {
        try database.cachedStatement(
            sql: """
                INSERT INTO development_device (token_hash, device, first_used_at, last_used_at) VALUES (?1, ?2, ?3, ?3)
                ON CONFLICT DO UPDATE SET last_used_at = ?3
                """
        ).execute(arguments: [Data(hash.bytes), Data(device), time])
        try database.cachedStatement(sql: "UPDATE development_token SET last_used_at = ? WHERE token_hash = ?")
            .execute(arguments: [time, Data(hash.bytes)])
    }

    static func insert(_ token: DevelopmentToken, into database: Database) throws {
        try database.cachedStatement(
            sql: """
                INSERT INTO development_token
                    (token_hash, id, name, routes, maximum_devices, issued_at, expires_at, revoked_at, last_used_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            Data(token.hash.bytes), token.id.text, token.name, token.routes?.joined(separator: ","),
            token.maximumDevices, token.issuedAt, token.expiresAt, token.revokedAt, token.lastUsedAt,
        ])
    }

    static func delete(_ hash: DevelopmentTokenHash, from database: Database) throws {
        for table in ["development_token", "development_device"] {
            try database.cachedStatement(sql: "DELETE FROM \(table) WHERE token_hash = ?")
                .execute(arguments: [Data(hash.bytes)])
        }
    }

    /// True when the token is known, whether or not it was revoked before.
    static func revoke(_ id: DevelopmentTokenID, at time: Int64, in database: Database) throws -> Bool {
        try database.cachedStatement(
            sql: "UPDATE development_token SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?"
        ).execute(arguments: [time, id.text])
        return database.changesCount == 1
    }

    /// The identifiers of the revoked tokens. There are never many tokens, so this needs no index.
    static func revoked(in database: Database) throws -> Set<String> {
        let statement = try database.cachedStatement(
            sql: "SELECT id FROM development_token WHERE revoked_at IS NOT NULL")
        return try Set(
            Row.fetchAll(statement).map { row in
                guard case .string(let id) = (row[0] as DatabaseValue).storage else { throw DeviceKeyTable.damage }
                return id
            })
    }

    /// Throws if an expected table or column is missing.
    static func checkStatements(_ database: Database) throws {
        _ = try database.makeStatement(sql: selection)
        _ = try database.makeStatement(sql: "SELECT first_used_at, last_used_at FROM development_device")
    }

    private static let selection = """
        SELECT token_hash, name, routes, maximum_devices, issued_at, expires_at, revoked_at, last_used_at, \
        (SELECT count(*) FROM development_device d WHERE d.token_hash = t.token_hash), id FROM development_token t
        """

    /// Reads a row of `selection`. A value of the wrong type or size means a damaged file.
    private static func token(_ row: Row) throws -> DevelopmentToken {
        func integer(_ column: Int) throws -> Int64? {
            switch (row[column] as DatabaseValue).storage {
            case .null: nil
            case .int64(let value): value
            default: throw DeviceKeyTable.damage
            }
        }
        func text(_ column: Int) throws -> String? {
            switch (row[column] as DatabaseValue).storage {
            case .null: nil
            case .string(let value) where value.utf8.count <= RecordLimits.tokenRecordBytes: value
            default: throw DeviceKeyTable.damage
            }
        }
        guard case .blob(let data) = (row[0] as DatabaseValue).storage,
            let hash = DevelopmentTokenHash(bytes: [UInt8](data)), let name = try text(1),
            let maximum = try integer(3).flatMap({ Int(exactly: $0) }), let issued = try integer(4),
            let expires = try integer(5), let devices = try integer(8).flatMap({ Int(exactly: $0) }),
            let id = try text(9), id.utf8.elementsEqual(hash.id.text.utf8)
        else { throw DeviceKeyTable.damage }
        return DevelopmentToken(
            hash: hash, name: name, routes: try text(2)?.split(separator: ",").map(String.init),
            maximumDevices: maximum, issuedAt: issued, expiresAt: expires, revokedAt: try integer(6),
            lastUsedAt: try integer(7), devices: devices)
    }
}
