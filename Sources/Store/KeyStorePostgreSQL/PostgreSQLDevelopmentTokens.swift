package import KeyStore
import PostgreSQL

extension PostgreSQLKeyRegistry: DevelopmentTokenStore {
    package func redeem(
        _ hash: DevelopmentTokenHash, by device: [UInt8], at time: Int64
    ) async throws(KeyRegistryError) -> GrantStatus {
        let values: [SQLValue] = [.bytes(hash.bytes), .bytes(device), .integer(time)]
        return try await answer(.redeem, values, within: nil) { rows throws(DatabaseError) in
            let row = try rows.only()
            switch try row.integer(0) {
            case 0:
                let routes = try row.optionalText(2).map { Set($0.split(separator: ",").map(String.init)) }
                return .granted(DevelopmentGrant(id: hash.id.text, name: try row.text(1), routes: routes))
            case 1: return .refused(.unknown)
            case 2: return .refused(.expired)
            case 3: return .refused(.revoked)
            case 4: return .refused(.deviceLimit)
            default: throw .malformed
            }
        }
    }

    package func status(
        ofGrant id: String, at time: Int64
    ) async throws(KeyRegistryError) -> GrantStatus {
        guard let id = DevelopmentTokenID(text: id) else { return .refused(.unknown) }
        return try await answer(.token, [.text(id.text)], within: nil) { rows throws(DatabaseError) in
            guard let row = rows.first else { return .refused(.unknown) }
            return try DevelopmentToken(row).status(at: time)
        }
    }

    package func issue(_ token: DevelopmentToken) async throws(KeyRegistryError) -> DevelopmentTokenIssue {
        let values: [SQLValue] =
            token.values + [
                .integer(token.issuedAt - DevelopmentTokenLimits.keptMilliseconds),
                .integer(Int64(DevelopmentTokenLimits.maximumTokens)),
            ]
        return try await answer(.issueToken, values) { rows throws(DatabaseError) in
            switch try rows.only().integer(0) {
            case 0: return .issued
            case 1: return .repeated
            case 2: return .full
            default: throw .malformed
            }
        }
    }

    package func developmentTokens() async throws(KeyRegistryError) -> [DevelopmentToken] {
        try await answer(.tokens) { rows throws(DatabaseError) in
            try rows.map { row throws(DatabaseError) in try DevelopmentToken(row) }
        }
    }

    package func revoke(_ id: DevelopmentTokenID, at time: Int64) async throws(KeyRegistryError) -> Bool {
        try await answer(.revokeToken, [.text(id.text), .integer(time)]) { rows throws(DatabaseError) in
            try rows.only().boolean(0)
        }
    }
}

extension DevelopmentToken {
    /// Reads a row of `tokenSelection`.
    init(_ row: SQLRow) throws(DatabaseError) {
        guard let hash = DevelopmentTokenHash(bytes: try row.bytes(0)),
            let maximum = Int(exactly: try row.integer(3)), let devices = Int(exactly: try row.integer(8)),
            try row.text(9).utf8.elementsEqual(hash.id.text.utf8)
        else { throw .malformed }
        self.init(
            hash: hash, name: try row.text(1), routes: try row.optionalText(2)?.split(separator: ",").map(String.init),
            maximumDevices: maximum, issuedAt: try row.integer(4), expiresAt: try row.integer(5),
            revokedAt: try row.optionalInteger(6), lastUsedAt: try row.optionalInteger(7), devices: devices)
    }

    /// In the order of the table's columns.
    var values: [SQLValue] {
        [
            .bytes(hash.bytes), .text(id.text), .text(name), .optional(routes?.joined(separator: ",")),
            .integer(Int64(maximumDevices)), .integer(issuedAt), .integer(expiresAt), .optional(revokedAt),
            .optional(lastUsedAt),
        ]
    }
}

extension SQLStatement {
    fileprivate static let redeem = SQLStatement(
        "redeem", isDurable: true,
        "SELECT standing, token_name, token_routes FROM portcullis.redeem($1::bytea, $2::bytea, $3::int8)")
    fileprivate static let issueToken = SQLStatement(
        "issue_token", isDurable: true,
        """
        SELECT portcullis.issue_token($1::bytea, $2::text, $3::text, $4::text, $5::int8, $6::int8, $7::int8, $8::int8,
            $9::int8, $10::int8, $11::int8)
        """)
    fileprivate static let token = SQLStatement("token", tokenSelection + " WHERE t.id = $1::text")
    static let tokens = SQLStatement(
        "tokens", maximumRows: DevelopmentTokenLimits.maximumTokens,
        tokenSelection + " ORDER BY t.issued_at, t.id COLLATE \"C\"")
    fileprivate static let revokeToken = SQLStatement(
        "revoke_token", isDurable: true, "SELECT portcullis.revoke_token($1::text, $2::int8)")

    private static let tokenSelection = """
        SELECT t.token_hash, CASE WHEN f.fits THEN t.name END, CASE WHEN f.fits THEN t.routes END, t.maximum_devices,
            t.issued_at, t.expires_at, t.revoked_at, t.last_used_at,
            (SELECT count(*) FROM portcullis.development_place p WHERE p.token_hash = t.token_hash),
            CASE WHEN f.fits THEN t.id END
        FROM portcullis.development_token t CROSS JOIN LATERAL (
            SELECT octet_length(t.name)::int8 + coalesce(octet_length(t.routes), 0) + octet_length(t.id)
                <= \(RecordLimits.tokenRecordBytes) AS fits) f
        """
}
