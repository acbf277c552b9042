import KeyStore
package import PostgreSQL

extension SQLStatement {
    /// Keys in one answer.
    package static let largestPage = 1_000

    static let tryWriting = SQLStatement(
        "try_writing", isDurable: true, "UPDATE portcullis.signing_state SET version = version RETURNING true")
    static let standing = SQLStatement(
        "standing",
        """
        SELECT CASE WHEN f.fits THEN public_key END, CASE WHEN f.fits THEN app END,
            CASE WHEN f.fits THEN environment END, CASE WHEN f.fits THEN trust_root END, counter,
            revoked_at IS NOT NULL,
            revoked_at IS NOT NULL AND revocation_reason IS NOT DISTINCT FROM '\(DeviceKey.erasingReason)',
            (SELECT a.account_id FROM portcullis.account_device d JOIN portcullis.account a USING (account_id)
                WHERE d.key_id = device_key.key_id AND a.closed_at IS NULL)
        FROM portcullis.device_key CROSS JOIN LATERAL (
            SELECT octet_length(public_key)::int8 + octet_length(app) + octet_length(environment)
                + octet_length(trust_root) <= \(RecordLimits.keyRecordBytes) AS fits) f
        WHERE key_id = $1::bytea
        """)
    static let useCounter = SQLStatement(
        "use_counter",
        """
        SELECT outcome, stored
        FROM portcullis.use_counter($1::bytea, $2::int8, $3::int8, $4::int8, $5::int8, $6::int8)
        """)
    /// The rule of `WindowInForce`.
    static let putInForce = SQLStatement(
        "put_in_force", isDurable: true,
        """
        UPDATE portcullis.counter_window
        SET epoch = epoch + CASE WHEN $1::int8 > least(size, $2::int8) THEN 1 ELSE 0 END, size = $1::int8
        WHERE size <> $1::int8 OR $1::int8 > $2::int8
        """)
    static let narrow = SQLStatement(
        "narrow", isDurable: true, "UPDATE portcullis.counter_window SET size = $1::int8 WHERE size > $1::int8")
    static let enrol = SQLStatement(
        "enrol", isDurable: true,
        """
        SELECT portcullis.enrol($1::bytea, $2::bytea, $3::text, $4::text, $5::bytea, $6::int8, $7::int8, $8::text,
            $9::int8, $10::int8, $11::int8, $12::text, $13::bytea)
        """)
    static let key = SQLStatement("key", selection + " WHERE k.key_id = $1::bytea")
    static let page = SQLStatement(
        "page", maximumRows: largestPage,
        selection + " WHERE k.key_id > $1::bytea ORDER BY k.key_id LIMIT $2::int8")
    static let revoke = SQLStatement(
        "revoke", isDurable: true, "SELECT portcullis.revoke_key($1::bytea, $2::text, $3::int8)")
    static let restore = SQLStatement("restore", isDurable: true, "SELECT portcullis.restore_key($1::bytea)")
    static let forget = SQLStatement("forget", isDurable: true, "SELECT portcullis.forget_key($1::bytea)")

    /// Of a record that is longer than any can be only the numbers are sent: readers take it as malformed.
    private static let selection = """
        SELECT k.key_id, CASE WHEN f.fits THEN public_key END, CASE WHEN f.fits THEN app END,
            CASE WHEN f.fits THEN environment END, CASE WHEN f.fits THEN trust_root END, counter, validation_category,
            CASE WHEN f.fits THEN bundle_version END, registered_at, last_used_at, revoked_at,
            CASE WHEN f.fits THEN revocation_reason END, CASE WHEN f.fits THEN receipt END
        FROM portcullis.device_key k LEFT JOIN portcullis.receipt r ON r.key_id = k.key_id
        CROSS JOIN LATERAL (
            SELECT octet_length(public_key)::int8 + octet_length(app) + octet_length(environment)
                + octet_length(trust_root) + coalesce(octet_length(bundle_version), 0)
                + coalesce(octet_length(revocation_reason), 0) + coalesce(octet_length(receipt), 0)
                <= \(RecordLimits.keyRecordBytes) AS fits) f
        """
}

extension KeyStanding {
    /// Reads a row of `standing`.
    init(_ id: KeyID, _ row: SQLRow) throws(DatabaseError) {
        guard let counter = UInt32(exactly: try row.integer(4)) else { throw .malformed }
        self.init(
            id: id, publicKeyX963: try row.bytes(0), app: try row.text(1), environment: try row.text(2),
            trustRoot: try row.bytes(3), counter: counter, isRevoked: try row.boolean(5),
            isBeingErased: try row.boolean(6), account: try row.isNull(7) ? nil : row.accountID(7))
    }
}

extension DeviceKey {
    /// Reads a row of `selection`.
    init(_ row: SQLRow) throws(DatabaseError) {
        guard let id = KeyID(bytes: try row.bytes(0)), let counter = UInt32(exactly: try row.integer(5)) else {
            throw .malformed
        }
        var category: UInt32?
        if let stored = try row.optionalInteger(6) {
            guard let number = UInt32(exactly: stored) else { throw .malformed }
            category = number
        }
        self.init(
            id: id, publicKeyX963: try row.bytes(1), app: try row.text(2), environment: try row.text(3),
            trustRoot: try row.bytes(4), counter: counter, receipt: try row.bytes(12), validationCategory: category,
            bundleVersion: try row.optionalText(7), registeredAt: try row.integer(8),
            lastUsedAt: try row.optionalInteger(9), revokedAt: try row.optionalInteger(10),
            revocationReason: try row.optionalText(11))
    }

    /// In the order of the table's columns, and the receipt.
    var values: [SQLValue] {
        [
            .bytes(id.bytes), .bytes(publicKeyX963), .text(app), .text(environment), .bytes(trustRoot),
            .integer(Int64(counter)), .optional(validationCategory.map { Int64($0) }), .optional(bundleVersion),
            .integer(registeredAt), .optional(lastUsedAt), .optional(revokedAt), .optional(revocationReason),
            .bytes(receipt),
        ]
    }
}

extension CounterUse {
    /// The last parameters of `portcullis.admit`, and all of `portcullis.use_counter`.
    func values(of key: KeyID, at time: Int64) -> [SQLValue] {
        [
            .bytes(key.bytes), .integer(Int64(counter)), .integer(time), .integer(window.closed),
            .integer(Int64(reach)), .integer(Int64(maximumRise)),
        ]
    }
}

extension CounterAdvance {
    /// Reads the columns of `portcullis.use_counter`.
    init(_ row: SQLRow, outcome: Int, stored: Int) throws(DatabaseError) {
        switch try row.integer(outcome) {
        case 0: self = .advanced
        case 1: self = .notHigher(stored: try Self.counter(row, stored))
        case 2: self = .unknownKey
        case 3: self = .revoked
        case 4: self = .tooHigh(stored: try Self.counter(row, stored))
        default: throw .malformed
        }
    }

    private static func counter(_ row: SQLRow, _ column: Int) throws(DatabaseError) -> UInt32 {
        guard let counter = UInt32(exactly: try row.integer(column)) else { throw .malformed }
        return counter
    }
}
