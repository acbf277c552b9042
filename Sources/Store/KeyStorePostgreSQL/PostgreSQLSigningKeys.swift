package import KeyStore
import PostgreSQL

/// The calls run on the caller's thread, which waits for the driver's: never on a reactor or in Swift's pool.
extension PostgreSQLKeyRegistry: SigningKeyStore {
    package func signingKeys() throws(KeyRegistryError) -> StoredSigningKeys { try storedSigningKeys().keys }

    package func replaceSigningKeys(
        _ expected: StoredSigningKeys, with keys: StoredSigningKeys
    ) throws(KeyRegistryError) -> Bool {
        let (version, stored) = try storedSigningKeys()
        guard stored == expected else { return false }
        return try blocking(.replaceSigningKeys, [.integer(version)] + keys.values(sealing)) {
            rows throws(DatabaseError) in
            try rows.only().boolean(0)
        }
    }

    package func secret(named name: String, creating fresh: [UInt8]) throws(KeyRegistryError) -> [UInt8] {
        let sealed = try sealing.seal(fresh, for: .secret(name))
        let stored = try blocking(.secret, [.text(name), .bytes(sealed)]) { rows throws(DatabaseError) in
            try rows.only().bytes(0)
        }
        return try sealing.open(stored, for: .secret(name))
    }

    private func storedSigningKeys() throws(KeyRegistryError) -> (version: Int64, keys: StoredSigningKeys) {
        try StoredSigningKeys.read(
            try blocking(.signingKeys, []) { rows throws(DatabaseError) in
                try rows.map { row throws(DatabaseError) in try SigningKeyRow(row) }
            }, sealing)
    }

    func blocking<Value>(
        _ statement: SQLStatement, _ values: [SQLValue], _ read: (SQLRows) throws(DatabaseError) -> Value
    ) throws(KeyRegistryError) -> Value {
        func run() throws(KeyRegistryError) -> Value {
            do throws(DatabaseError) {
                return try read(try driver.runBlocking(statement, values, within: Self.patience))
            } catch {
                throw KeyRegistryError(error)
            }
        }
        guard let watch = watch(statement.isDurable ? .administer : .read) else { return try run() }
        return try watch.time(run)
    }

    /// For the feed of changes, which doesn't block, and doesn't end at one row that can't be read: revocations go on.
    ///
    /// - Returns: also how many keys can't be read. They verify nothing here.
    func loadSigningKeys() async throws(KeyRegistryError) -> (keys: StoredSigningKeys, unreadable: Int) {
        let rows = try await answer(.signingKeys) { rows throws(DatabaseError) in
            try rows.map { row throws(DatabaseError) in try SigningKeyRow(row) }
        }
        let readable = rows.filter { row in
            (try? StoredSigningKeys.read([row], sealing)) != nil
        }
        guard !rows.isEmpty else { throw KeyRegistryError(DatabaseError.malformed) }
        guard !readable.isEmpty else { return (StoredSigningKeys(), rows.count) }
        return (try StoredSigningKeys.read(readable, sealing).keys, rows.count - readable.count)
    }
}

/// A row of `signingKeys`; without a key if there is none.
struct SigningKeyRow: Sendable {
    let version: Int64
    let id: String?
    let sealed: [UInt8]?
    let publishedAt, signsFrom, revokedAt: Int64?

    init(_ row: SQLRow) throws(DatabaseError) {
        version = try row.integer(0)
        id = try row.optionalText(1)
        sealed = try row.isNull(2) ? nil : row.bytes(2)
        publishedAt = try row.optionalInteger(3)
        signsFrom = try row.optionalInteger(4)
        revokedAt = try row.optionalInteger(5)
    }
}

extension StoredSigningKeys {
    static func read(
        _ rows: [SigningKeyRow], _ sealing: any SecretSealing
    ) throws(KeyRegistryError) -> (version: Int64, keys: StoredSigningKeys) {
        guard let version = rows.first?.version else { throw KeyRegistryError(DatabaseError.malformed) }
        var stored = StoredSigningKeys()
        for row in rows {
            guard let id = row.id else { continue }
            if let revokedAt = row.revokedAt {
                stored.revoked.append(Revoked(id: id, revokedAt: revokedAt))
            } else if let sealed = row.sealed, let published = row.publishedAt, let from = row.signsFrom {
                stored.keys.append(
                    StoredSigningKey(
                        id: id, secret: try sealing.open(sealed, for: .signingKey(id)), publishedAt: published,
                        signsFrom: from))
            } else {
                throw KeyRegistryError(DatabaseError.malformed)
            }
        }
        return (version, StoredSigningKeys(keys: stored.keys, revoked: stored.revoked))
    }

    /// A column each.
    func values(_ sealing: any SecretSealing) throws(KeyRegistryError) -> [SQLValue] {
        var secrets: [SQLValue] = []
        for key in keys { secrets.append(.bytes(try sealing.seal(key.secret, for: .signingKey(key.id)))) }
        let empty = [SQLValue](repeating: .integer(0), count: revoked.count)
        return [
            .array(of: .text, keys.map { .text($0.id) } + revoked.map { .text($0.id) }),
            .array(of: .bytes, secrets + revoked.map { _ in .null }),
            .array(of: .integer, keys.map { .integer($0.publishedAt) } + empty),
            .array(of: .integer, keys.map { .integer($0.signsFrom) } + empty),
            .array(of: .integer, keys.map { _ in .null } + revoked.map { .integer($0.revokedAt) }),
        ]
    }
}

extension String {
    static func signingKey(_ id: String) -> String { "signing key \(id)" }
    static func secret(_ name: String) -> String { "secret \(name)" }
}

extension SQLStatement {
    /// More than any schedule of keys makes in years.
    private static let maximumSigningKeys = 10_000

    static let signingKeys = SQLStatement(
        "signing_keys", maximumRows: maximumSigningKeys,
        """
        SELECT s.version, left(k.key_id, \(RecordLimits.signingKeyNameBytes)),
            CASE WHEN octet_length(k.secret) <= \(RecordLimits.secretBytes) THEN k.secret END, k.published_at,
            k.signs_from, k.revoked_at
        FROM portcullis.signing_state s LEFT JOIN portcullis.signing_key k ON true
        """)
    static let replaceSigningKeys = SQLStatement(
        "replace_signing_keys", isDurable: true,
        """
        SELECT portcullis.replace_signing_keys($1::int8, $2::text[], $3::bytea[], $4::int8[], $5::int8[], $6::int8[])
        """)
    static let secret = SQLStatement(
        "secret", isDurable: true, "SELECT portcullis.secret_of($1::text, $2::bytea)")
}
