import FoundationEssentials
import GRDB
package import KeyStore

extension SQLiteKeyDatabase: TransferableStore {
    package func transferableKeys(after: KeyID?, limit: Int) throws(KeyRegistryError) -> [DeviceKey] {
        try keys(after: after, limit: limit)
    }

    package func transferableTokens() throws(KeyRegistryError) -> [TransferredToken] {
        try readers.use { try DevelopmentTokenTable.transferable(in: $0) }
    }

    package func transferableSigningKeys() throws(KeyRegistryError) -> StoredSigningKeys { try signingKeys() }

    package func transferableSecrets() throws(KeyRegistryError) -> [NamedSecret] {
        try readers.use { try SigningKeyTable.secrets(in: $0) }
    }

    package func complete(keys: [DeviceKey]) throws(KeyRegistryError) {
        try administer(until: nil) { database in
            for key in keys {
                if let known = try DeviceKeyTable.fetch(key.id, from: database) {
                    try DeviceKeyTable.replace(known.completed(by: key), in: database)
                } else {
                    try DeviceKeyTable.insert(key, into: database)
                }
            }
        }
    }

    package func complete(token: TransferredToken) throws(KeyRegistryError) {
        try administer(until: nil) { database in
            if let known = try DevelopmentTokenTable.fetch(token.token.hash, from: database) {
                let revocations = [known.revokedAt, token.token.revokedAt].compactMap(\.self)
                if let revokedAt = revocations.min(), revokedAt != known.revokedAt {
                    try DevelopmentTokenTable.setRevocation(of: known.id, at: revokedAt, in: database)
                }
            } else {
                guard try DevelopmentTokenTable.all(from: database).count < DevelopmentTokenLimits.maximumTokens else {
                    throw KeyRegistryError.unavailable("it has the maximum of development tokens already")
                }
                try DevelopmentTokenTable.insert(token.token, into: database)
            }
            for place in token.places {
                try DevelopmentTokenTable.complete(place, of: token.token.hash, in: database)
            }
        }
    }

    package func complete(signingKeys: StoredSigningKeys) throws(KeyRegistryError) {
        try administer(until: nil) { database in
            let completed = try SigningKeyTable.keys(in: database).completed(by: signingKeys)
            try SigningKeyTable.replace(with: completed, in: database)
        }
    }

    package func endFamilies() throws(KeyRegistryError) {
        _ = try change(until: nil) { try RefreshTable.end(.all, at: SQLiteClock.now(in: $0), in: $0) }
    }

    package func complete(secret: NamedSecret) throws(KeyRegistryError) {
        _ = try self.secret(named: secret.name, creating: secret.value)
    }
}

extension DevelopmentTokenTable {
    static func transferable(in database: Database) throws -> [TransferredToken] {
        try all(from: database).map { try transferable($0, in: database) }
    }

    static func transferable(_ token: DevelopmentToken, in database: Database) throws -> TransferredToken {
        guard token.devices <= DevelopmentToken.largestDeviceLimit else { throw DeviceKeyTable.damage }
        return TransferredToken(token: token, places: try places(of: token.hash, in: database))
    }

    static func places(of hash: DevelopmentTokenHash, in database: Database) throws -> [TransferredToken.Place] {
        let statement = try database.cachedStatement(
            sql: """
                SELECT device, first_used_at, last_used_at FROM development_device WHERE token_hash = ? ORDER BY device
                """)
        return try Row.fetchAll(statement, arguments: [Data(hash.bytes)]).map { row in
            guard case .blob(let device) = (row[0] as DatabaseValue).storage,
                case .int64(let first) = (row[1] as DatabaseValue).storage,
                case .int64(let last) = (row[2] as DatabaseValue).storage
            else { throw DeviceKeyTable.damage }
            return TransferredToken.Place(device: [UInt8](device), firstUsedAt: first, lastUsedAt: last)
        }
    }

    static func complete(
        _ place: TransferredToken.Place, of hash: DevelopmentTokenHash, in database: Database
    ) throws {
        try database.cachedStatement(
            sql: """
                INSERT INTO development_device (token_hash, device, first_used_at, last_used_at) VALUES (?1, ?2, ?3, ?4)
                ON CONFLICT DO UPDATE SET first_used_at = min(first_used_at, ?3), last_used_at = max(last_used_at, ?4)
                """
        ).execute(arguments: [Data(hash.bytes), Data(place.device), place.firstUsedAt, place.lastUsedAt])
    }

    static func setRevocation(of id: DevelopmentTokenID, at time: Int64, in database: Database) throws {
        try database.cachedStatement(sql: "UPDATE development_token SET revoked_at = ? WHERE id = ?")
            .execute(arguments: [time, id.text])
    }
}

extension SigningKeyTable {
    /// - Parameter name: the only one; nil: all.
    static func secrets(in database: Database, only name: String? = nil) throws -> [NamedSecret] {
        try Row.fetchAll(
            database, sql: "SELECT name, value FROM secret WHERE ?1 IS NULL OR name = ?1 ORDER BY name",
            arguments: [name]
        ).map { row in
            guard case .string(let name) = (row[0] as DatabaseValue).storage,
                case .blob(let value) = (row[1] as DatabaseValue).storage
            else { throw DeviceKeyTable.damage }
            return NamedSecret(name: name, value: [UInt8](value))
        }
    }
}
