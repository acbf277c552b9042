package import KeyStore
import PostgreSQL

extension PostgreSQLKeyRegistry: KeyMaintenance {
    /// Keys of one transaction.
    package static let maximumPruned = 500
    /// Changes that are kept for gateways that weren't connected: as many as a day of revocations, one each second.
    private static let keptChanges: Int64 = 100_000

    package func listing(after: KeyID?, limit: Int) async throws(KeyRegistryError) -> [ListedKey] {
        guard limit > 0 else { return [] }
        let values: [SQLValue] = [
            .bytes(after?.bytes ?? []), .integer(Int64(min(limit, SQLStatement.largestPage))),
        ]
        return try await answer(.page, values) { rows throws(DatabaseError) in
            try rows.map { row throws(DatabaseError) in
                guard let key = try? DeviceKey(row) else { return .damaged(try row.keyID(0)) }
                return .key(key)
            }
        }
    }

    package func prune(_ ids: [KeyID], idleSince time: Int64) async throws(KeyRegistryError) -> PrunedBatch {
        let batch = ids.prefix(Self.maximumPruned)
        guard !batch.isEmpty else { return PrunedBatch(forgotten: [], handled: 0) }
        let values: [SQLValue] = [.array(of: .bytes, batch.map { .bytes($0.bytes) }), .integer(time)]
        let forgotten = try await answer(.prune, values) { rows throws(DatabaseError) in
            Set(try rows.map { row throws(DatabaseError) in try row.keyID(0) })
        }
        return PrunedBatch(forgotten: forgotten, handled: batch.count)
    }

    package func beginErasure(of id: KeyID, at time: Int64) async throws(KeyRegistryError) -> Bool {
        try await answer(.beginErasure, [.bytes(id.bytes), .integer(time)]) { rows throws(DatabaseError) in
            try rows.only().boolean(0)
        }
    }

    package func finishErasure(of id: KeyID, holders: [HolderMark]) async throws(KeyRegistryError) -> Erasure {
        let values: [SQLValue] = [.bytes(id.bytes), .array(of: .bytes, holders.map { .bytes($0.bytes) })]
        return try await answer(.finishErasure, values) { rows throws(DatabaseError) in
            let row = try rows.only()
            guard let places = Int(exactly: try row.integer(1)) else { throw .malformed }
            switch try row.integer(0) {
            case 0: return Erasure(key: .unknown, places: places)
            case 1: return Erasure(key: .removed, places: places)
            case 2: return Erasure(key: .reducedToRevocation, places: places)
            default: throw .malformed
            }
        }
    }

    package func unfinishedErasures(
        begunBefore time: Int64, limit: Int
    ) async throws(KeyRegistryError) -> [KeyID] {
        let values: [SQLValue] = [.integer(time), .integer(Int64(min(limit, SQLStatement.largestPage)))]
        return try await answer(.unfinishedErasures, values) { rows throws(DatabaseError) in
            try rows.map { row throws(DatabaseError) in try row.keyID(0) }
        }
    }

    package func places(ofDevice device: KeyID) async throws(KeyRegistryError) -> [DevelopmentPlace] {
        try await answer(.places, [.bytes(device.bytes)]) { rows throws(DatabaseError) in
            try rows.map { row throws(DatabaseError) in
                guard let token = DevelopmentTokenID(text: try row.text(0)) else { throw .malformed }
                return DevelopmentPlace(
                    token: token, name: try row.text(1), firstUsedAt: try row.integer(2),
                    lastUsedAt: try row.integer(3))
            }
        }
    }

    package func mayEraseBlocking() throws(KeyRegistryError) -> Bool {
        try blocking(.mayErase, []) { rows throws(DatabaseError) in try rows.only().boolean(0) }
    }

    package func mayErase() async throws(KeyRegistryError) -> Bool {
        try await answer(.mayErase, []) { rows throws(DatabaseError) in try rows.only().boolean(0) }
    }

    package func settle() async throws(KeyRegistryError) { try await forgetChanges() }

    /// Forgets old entries of the feed of changes.
    package func forgetChanges() async throws(KeyRegistryError) {
        try await answer(.forgetChanges, [.integer(Self.keptChanges)]) { _ in }
    }
}

extension PostgreSQLKeyRegistry: AdministrableStore {
    package var signingKeyStore: any SigningKeyStore { self }
}

extension SQLRow {
    func keyID(_ column: Int) throws(DatabaseError) -> KeyID {
        guard let id = KeyID(bytes: try bytes(column)) else { throw .malformed }
        return id
    }
}

extension SQLStatement {
    fileprivate static let prune = SQLStatement(
        "prune", maximumRows: PostgreSQLKeyRegistry.maximumPruned, isDurable: true,
        "SELECT p FROM portcullis.prune_keys($1::bytea[], $2::int8) p")
    fileprivate static let beginErasure = SQLStatement(
        "begin_erasure", isDurable: true, "SELECT portcullis.begin_erasure($1::bytea, $2::int8)")
    fileprivate static let finishErasure = SQLStatement(
        "finish_erasure", isDurable: true, "SELECT key, places FROM portcullis.finish_erasure($1::bytea, $2::bytea[])")
    fileprivate static let unfinishedErasures = SQLStatement(
        "unfinished_erasures", maximumRows: largestPage,
        """
        SELECT key_id FROM portcullis.device_key
        WHERE revoked_at < $1::int8 AND revocation_reason = '\(DeviceKey.erasingReason)' LIMIT $2::int8
        """)
    /// Also what `finish_erasure` does to a key that is gone already, or revoked.
    fileprivate static let mayErase = SQLStatement(
        "may_erase",
        """
        SELECT has_table_privilege('portcullis.device_key', 'DELETE')
            AND has_table_privilege('portcullis.development_place', 'DELETE')
            AND bool_and(has_column_privilege('portcullis.device_key', c.name, 'UPDATE'))
        FROM unnest(ARRAY['registered_at', 'revoked_at', 'revocation_reason']) c (name)
        """)
    fileprivate static let places = SQLStatement(
        "places", maximumRows: DevelopmentTokenLimits.maximumTokens,
        """
        SELECT t.id, t.name, p.first_used_at, p.last_used_at
        FROM portcullis.development_place p JOIN portcullis.development_token t ON t.token_hash = p.token_hash
        WHERE p.device = $1::bytea ORDER BY p.first_used_at
        """)
    fileprivate static let forgetChanges = SQLStatement(
        "forget_changes", isDurable: true, "SELECT true FROM portcullis.forget_changes($1::int8)")
}
