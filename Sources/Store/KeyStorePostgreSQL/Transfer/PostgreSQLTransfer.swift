package import KeyStore
package import PostgreSQL

/// The content of a fleet's store, for tools that copy it: one connection, whose calls block.
package struct PostgreSQLTransfer: TransferableStore {
    let session: PostgreSQLConnection
    let sealing: any SecretSealing

    /// Throws unless this program can work with the schema that is there.
    ///
    /// - Parameter reading: all reads see the moment of the first one. Otherwise proofs that may have been used
    ///   elsewhere are refused for a while.
    package init(
        _ session: PostgreSQLConnection, sealing: any SecretSealing, reading: Bool
    ) throws(PostgreSQLSchemaError) {
        self.session = session
        self.sealing = sealing
        try PostgreSQLSchema.current.check(session)
        do throws(DatabaseError) {
            // What is imported may be a gateway's that accepted proofs until a moment ago.
            try session.run(
                reading
                    ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
                    : "UPDATE portcullis.home SET began = clock_timestamp(), began_of = incarnation")
        } catch {
            throw .database(error)
        }
    }

    package func transferableKeys(after: KeyID?, limit: Int) throws(KeyRegistryError) -> [DeviceKey] {
        try answer(.page, [.bytes(after?.bytes ?? []), .integer(Int64(limit))]) { row throws(DatabaseError) in
            try DeviceKey(row)
        }
    }

    package func transferableTokens() throws(KeyRegistryError) -> [TransferredToken] {
        var transferred: [TransferredToken] = []
        for token in try answer(.tokens, [], { row throws(DatabaseError) in try DevelopmentToken(row) }) {
            do throws(DatabaseError) {
                transferred.append(TransferredToken(token: token, places: try places(of: token.hash)))
            } catch {
                throw KeyRegistryError(error)
            }
        }
        return transferred
    }

    func places(of hash: DevelopmentTokenHash) throws(DatabaseError) -> [TransferredToken.Place] {
        try session.run(.placesOfToken, [.bytes(hash.bytes)]).map { row throws(DatabaseError) in
            TransferredToken.Place(
                device: try row.bytes(0), firstUsedAt: try row.integer(1), lastUsedAt: try row.integer(2))
        }
    }

    package func transferableSigningKeys() throws(KeyRegistryError) -> StoredSigningKeys { try signingKeys().keys }

    package func transferableSecrets() throws(KeyRegistryError) -> [NamedSecret] {
        let sealed = try answer(.secrets, []) { row throws(DatabaseError) in
            (name: try row.text(0), value: try row.bytes(1))
        }
        var secrets: [NamedSecret] = []
        for secret in sealed {
            secrets.append(
                NamedSecret(name: secret.name, value: try sealing.open(secret.value, for: .secret(secret.name))))
        }
        return secrets
    }

    package func complete(keys: [DeviceKey]) throws(KeyRegistryError) {
        guard !keys.isEmpty else { return }
        let rows = keys.map(\.values)
        let elements: [SQLElement] = [
            .bytes, .bytes, .text, .text, .bytes, .integer, .integer, .text, .integer, .integer, .integer, .text,
            .bytes,
        ]
        let columns = elements.enumerated().map { column, element in
            SQLValue.array(of: element, rows.map { $0[column] })
        }
        _ = try answer(.completeKeys, columns) { _ in }
    }

    package func complete(token: TransferredToken) throws(KeyRegistryError) {
        try transaction { () throws(DatabaseError) in
            let row = try session.run(
                .completeToken, token.token.values + [.integer(Int64(DevelopmentTokenLimits.maximumTokens))]
            ).first
            guard row != nil else { return false }
            try session.run(
                .completePlaces,
                [
                    .bytes(token.token.hash.bytes), .array(of: .bytes, token.places.map { .bytes($0.device) }),
                    .array(of: .integer, token.places.map { .integer($0.firstUsedAt) }),
                    .array(of: .integer, token.places.map { .integer($0.lastUsedAt) }),
                ])
            return true
        }
    }

    private func transaction(_ body: () throws(DatabaseError) -> Bool) throws(KeyRegistryError) {
        let isDone: Bool
        do throws(DatabaseError) { isDone = try session.transaction("", body) } catch { throw KeyRegistryError(error) }
        guard isDone else { throw .unavailable("it has the maximum of development tokens already") }
    }

    package func complete(signingKeys: StoredSigningKeys) throws(KeyRegistryError) {
        // Another process may change them in between.
        for _ in 0..<10 {
            let (version, stored) = try self.signingKeys()
            let completed = try stored.completed(by: signingKeys).values(sealing)
            let isDone = try answer(.replaceSigningKeys, [.integer(version)] + completed) { row throws(DatabaseError) in
                try row.boolean(0)
            }
            if isDone == [true] { return }
        }
        throw .busy
    }

    package func complete(secret: NamedSecret) throws(KeyRegistryError) {
        let sealed = try sealing.seal(secret.value, for: .secret(secret.name))
        _ = try answer(.secret, [.text(secret.name), .bytes(sealed)]) { _ in }
    }

    private func signingKeys() throws(KeyRegistryError) -> (version: Int64, keys: StoredSigningKeys) {
        try StoredSigningKeys.read(
            try answer(.signingKeys, []) { row throws(DatabaseError) in try SigningKeyRow(row) }, sealing)
    }

    func answer<Value>(
        _ statement: SQLStatement, _ values: [SQLValue], _ read: (SQLRow) throws(DatabaseError) -> Value
    ) throws(KeyRegistryError) -> [Value] {
        do throws(DatabaseError) {
            return try session.run(statement, values).map(read)
        } catch {
            throw KeyRegistryError(error)
        }
    }
}

extension SQLStatement {
    fileprivate static let placesOfToken = SQLStatement(
        "places_of_token", maximumRows: 2 * DevelopmentToken.largestDeviceLimit,
        """
        SELECT device, first_used_at, last_used_at FROM portcullis.development_place WHERE token_hash = $1::bytea
        ORDER BY device
        """)
    static let secrets = SQLStatement(
        "secrets", maximumRows: RecordLimits.secretRows,
        """
        SELECT left(name, \(RecordLimits.secretNameBytes)),
            CASE WHEN octet_length(value) <= \(RecordLimits.secretBytes) THEN value END
        FROM portcullis.secret ORDER BY name COLLATE "C"
        """)

    /// The rule is `DeviceKey.completed(by:)`. Gateways hear of every key that is revoked. All rows are written before
    /// the first note, which takes the lock that every change waits for.
    fileprivate static let completeKeys = SQLStatement(
        "complete_keys", maximumRows: StoreTransfer.batch,
        """
        WITH given AS (
            SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::text[], $4::text[], $5::bytea[], $6::int8[], $7::int8[],
                $8::text[], $9::int8[], $10::int8[], $11::int8[], $12::text[], $13::bytea[])
            AS g (key_id, public_key, app, environment, trust_root, counter, validation_category, bundle_version,
                registered_at, last_used_at, revoked_at, revocation_reason, receipt)
        ), completed AS (
            INSERT INTO portcullis.device_key AS k
            SELECT key_id, public_key, app, environment, trust_root, counter, validation_category, bundle_version,
                registered_at, last_used_at, revoked_at, revocation_reason FROM given
            ON CONFLICT (key_id) DO UPDATE SET
                counter = greatest(k.counter, excluded.counter),
                registered_at = CASE WHEN octet_length(excluded.public_key) = 0 THEN k.registered_at
                    ELSE least(k.registered_at, excluded.registered_at) END,
                last_used_at = greatest(k.last_used_at, excluded.last_used_at),
                revoked_at = coalesce(k.revoked_at, excluded.revoked_at),
                revocation_reason = CASE WHEN k.revoked_at IS NULL THEN excluded.revocation_reason
                    ELSE k.revocation_reason END
            WHERE octet_length(k.public_key) > 0
            RETURNING k.key_id, k.revoked_at
        ), receipts AS (
            INSERT INTO portcullis.receipt SELECT key_id, receipt FROM given ON CONFLICT DO NOTHING
        )
        SELECT portcullis.note(1, id)
        FROM unnest((SELECT array_agg(c.key_id) FROM completed c WHERE c.revoked_at IS NOT NULL)) id
        """)

    /// No row if there are too many tokens.
    fileprivate static let completeToken = SQLStatement(
        "complete_token",
        """
        INSERT INTO portcullis.development_token AS t
        SELECT $1::bytea, $2::text, $3::text, $4::text, $5::int8, $6::int8, $7::int8, $8::int8, $9::int8
        WHERE EXISTS (SELECT 1 FROM portcullis.development_token WHERE token_hash = $1::bytea)
            OR (SELECT count(*) FROM portcullis.development_token) < $10::int8
        ON CONFLICT (token_hash) DO UPDATE SET revoked_at = least(t.revoked_at, excluded.revoked_at)
        RETURNING (SELECT true FROM portcullis.note(2, convert_to($2::text, 'UTF8')))
        """)
    fileprivate static let completePlaces = SQLStatement(
        "complete_places",
        """
        INSERT INTO portcullis.development_place AS p
        SELECT $1::bytea, g.* FROM unnest($2::bytea[], $3::int8[], $4::int8[]) g
        ON CONFLICT (token_hash, device) DO UPDATE SET
            first_used_at = least(p.first_used_at, excluded.first_used_at),
            last_used_at = greatest(p.last_used_at, excluded.last_used_at)
        """)
}
