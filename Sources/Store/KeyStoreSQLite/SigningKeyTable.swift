import FoundationEssentials
import GRDB
package import KeyStore

/// The statements on `signing_key` and `secret`. No function begins a transaction.
///
/// A revoked key stays as a row without its secret, so that every process can see that it was revoked.
enum SigningKeyTable {
    /// Older stores don't have these tables yet. Older programs work with them: they issue no tokens.
    static func create(in database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS signing_key (
                    key_id TEXT NOT NULL PRIMARY KEY,
                    secret BLOB,
                    published_at INTEGER NOT NULL,
                    signs_from INTEGER NOT NULL,
                    revoked_at INTEGER,
                    CHECK ((secret IS NULL) = (revoked_at IS NOT NULL))
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE IF NOT EXISTS secret (
                    name TEXT NOT NULL PRIMARY KEY,
                    value BLOB NOT NULL
                ) STRICT, WITHOUT ROWID;
                """)
    }

    /// - Parameter id: the only one; nil: all.
    static func keys(in database: Database, only id: String? = nil) throws -> StoredSigningKeys {
        var stored = StoredSigningKeys()
        let rows = try Row.fetchAll(
            database.cachedStatement(
                sql: """
                    SELECT key_id, secret, published_at, signs_from, revoked_at FROM signing_key
                    WHERE ?1 IS NULL OR key_id = ?1
                    """), arguments: [id])
        for row in rows {
            let id = try text(row[0])
            if let revokedAt = try integer(row[4]) {
                stored.revoked.append(StoredSigningKeys.Revoked(id: id, revokedAt: revokedAt))
            } else {
                guard let published = try integer(row[2]), let from = try integer(row[3]) else {
                    throw DeviceKeyTable.damage
                }
                stored.keys.append(
                    StoredSigningKey(id: id, secret: try blob(row[1]), publishedAt: published, signsFrom: from))
            }
        }
        return StoredSigningKeys(keys: stored.keys, revoked: stored.revoked)
    }

    static func replace(with stored: StoredSigningKeys, in database: Database) throws {
        try database.cachedStatement(sql: "DELETE FROM signing_key").execute()
        let insertion = try database.cachedStatement(
            sql: """
                INSERT INTO signing_key (key_id, secret, published_at, signs_from, revoked_at) VALUES (?, ?, ?, ?, ?)
                """)
        for key in stored.keys {
            try insertion.execute(arguments: [key.id, Data(key.secret), key.publishedAt, key.signsFrom, nil])
        }
        for key in stored.revoked { try insertion.execute(arguments: [key.id, nil, 0, 0, key.revokedAt]) }
    }

    static func secret(named name: String, creating fresh: [UInt8], in database: Database) throws -> [UInt8] {
        try database.cachedStatement(sql: "INSERT OR IGNORE INTO secret (name, value) VALUES (?, ?)")
            .execute(arguments: [name, Data(fresh)])
        let row = try Row.fetchOne(
            database.cachedStatement(sql: "SELECT value FROM secret WHERE name = ?"), arguments: [name])
        guard let row else { throw DeviceKeyTable.damage }
        return try blob(row[0])
    }

    // A value of the wrong type means a damaged file, and is thrown: GRDB's own conversions would trap.

    private static func text(_ value: DatabaseValue) throws -> String {
        guard case .string(let text) = value.storage else { throw DeviceKeyTable.damage }
        return text
    }

    private static func blob(_ value: DatabaseValue) throws -> [UInt8] {
        guard case .blob(let data) = value.storage else { throw DeviceKeyTable.damage }
        return [UInt8](data)
    }

    private static func integer(_ value: DatabaseValue) throws -> Int64? {
        switch value.storage {
        case .null: nil
        case .int64(let integer): integer
        default: throw DeviceKeyTable.damage
        }
    }
}

extension SQLiteKeyDatabase: SigningKeyStore {
    package func signingKeys() throws(KeyRegistryError) -> StoredSigningKeys {
        try readers.use { try SigningKeyTable.keys(in: $0) }
    }

    package func replaceSigningKeys(
        _ expected: StoredSigningKeys, with keys: StoredSigningKeys
    ) throws(KeyRegistryError) -> Bool {
        try administer(until: nil) { database in
            guard try SigningKeyTable.keys(in: database) == expected else { return false }
            try SigningKeyTable.replace(with: keys, in: database)
            return true
        }
    }

    package func secret(named name: String, creating fresh: [UInt8]) throws(KeyRegistryError) -> [UInt8] {
        try administer(until: nil) { try SigningKeyTable.secret(named: name, creating: fresh, in: $0) }
    }
}

extension SQLiteKeyRegistry {
    /// The signing keys in the same file. Its calls run on the caller's thread.
    package var tokenStore: some SigningKeyStore { database }
}
