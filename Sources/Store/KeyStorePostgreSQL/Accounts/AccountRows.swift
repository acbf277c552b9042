import KeyStore
import PostgreSQL

/// How accounts are read: one row for the account, one for each passkey and one for each device, in this order.
extension Account {
    /// - Parameter accounts: a query whose rows are the identifiers of the accounts.
    static func rows(of accounts: String) -> String {
        """
        WITH wanted AS MATERIALIZED (\(accounts))
        SELECT account_id, 0::int8 AS kind, proof AS subject, NULL::bytea, NULL::bytea, NULL::bytea, origin, made_at AS at,
            last_used_at, closed_at, NULL::text, NULL::text
        FROM portcullis.account WHERE account_id IN (SELECT account_id FROM wanted)
        UNION ALL
        SELECT account_id, 1, mark, credential_id, public_key, aaguid, sign_count, made_at, last_used_at, flags, label,
            attestation
        FROM portcullis.passkey WHERE account_id IN (SELECT account_id FROM wanted)
        UNION ALL
        SELECT account_id, 2, key_id, NULL, NULL, NULL, NULL, joined_at, NULL, NULL, label, NULL
        FROM portcullis.account_device WHERE account_id IN (SELECT account_id FROM wanted)
        ORDER BY account_id, kind, at, subject
        """
    }

    static func read(_ rows: SQLRows) throws(DatabaseError) -> [Account] {
        var accounts: [Account] = []
        for index in 0..<rows.count {
            let row = rows[index]
            let id = try row.accountID(0)
            let kind = try row.integer(1)
            guard kind > 0 else {
                accounts.append(try Account(id, row))
                continue
            }
            // A passkey of an account that isn't there, or that is out of its order.
            guard let last = accounts.indices.last, accounts[last].id == id else { throw .malformed }
            switch kind {
            case 1: accounts[last].passkeys.append(try Passkey(row))
            case 2: accounts[last].devices.append(try AccountDevice(row))
            default: throw .malformed
            }
        }
        return accounts
    }

    private init(_ id: AccountID, _ row: SQLRow) throws(DatabaseError) {
        self.init(
            id: id, origin: try row.origin(6, proof: 2), madeAt: try row.integer(7),
            lastUsedAt: try row.optionalInteger(8), closedAt: try row.optionalInteger(9), passkeys: [])
    }
}

extension AccountStanding {
    /// One row for each passkey, one for each family, or one without either.
    static func read(_ rows: SQLRows, of id: AccountID) throws(DatabaseError) -> AccountStanding? {
        guard let first = rows.first else { return nil }
        let marks = try rows.map { row throws(DatabaseError) -> PasskeyMark? in
            guard try !row.isNull(3) else { return nil }
            guard let mark = PasskeyMark(bytes: try row.bytes(3)) else { throw .malformed }
            return mark
        }
        let families = try rows.map { row throws(DatabaseError) -> RefreshFamilyID? in
            guard try !row.isNull(4) else { return nil }
            guard let id = RefreshFamilyID(bytes: try row.bytes(4)) else { throw .malformed }
            return id
        }
        return AccountStanding(
            id: id, origin: try first.origin(0, proof: 1), isClosed: try first.boolean(2),
            passkeys: Set(marks.compactMap(\.self)), families: Set(families.compactMap(\.self)))
    }
}

extension FoundPasskey {
    /// A passkey's row, as those of ``Account/rows(of:)``, followed by three columns of its account.
    init(_ row: SQLRow) throws(DatabaseError) {
        let account = AccountStanding(
            id: try row.accountID(0), origin: try row.origin(12, proof: 13), isClosed: try row.boolean(14),
            passkeys: [])
        self.init(try Passkey(row), of: account)
    }
}

extension Passkey {
    private static let (eligible, backedUp, verified): (Int64, Int64, Int64) = (1, 2, 4)

    fileprivate init(_ row: SQLRow) throws(DatabaseError) {
        let flags = try row.integer(9)
        guard let mark = PasskeyMark(bytes: try row.bytes(2)), let count = UInt32(exactly: try row.integer(6)) else {
            throw .malformed
        }
        self.init(
            mark: mark, credentialID: try row.bytes(3), publicKey: try row.bytes(4), signCount: count,
            isBackupEligible: flags & Self.eligible != 0, isBackedUp: flags & Self.backedUp != 0,
            isUserVerified: flags & Self.verified != 0, aaguid: try row.bytes(5), attestation: try row.text(11),
            label: try row.text(10), madeAt: try row.integer(7), lastUsedAt: try row.optionalInteger(8))
        guard isWellFormed else { throw .malformed }
    }

    /// In the order of the functions' parameters.
    var values: [SQLValue] {
        [
            .bytes(mark.bytes), .bytes(credentialID), .bytes(publicKey), .integer(Int64(signCount)),
            .integer(Self.flags(isBackupEligible, isBackedUp) | (isUserVerified ? Self.verified : 0)), .bytes(aaguid),
            .text(attestation), .text(label), .integer(madeAt),
        ]
    }

    fileprivate static func flags(_ isEligible: Bool, _ isBackedUp: Bool) -> Int64 {
        (isEligible ? eligible : 0) | (isBackedUp ? backedUp : 0)
    }
}

extension PasskeyUse {
    var flags: Int64 { Passkey.flags(isBackupEligible, isBackedUp) }
}

extension PasskeySpending {
    /// Reads the columns of `portcullis.use_passkey`.
    init(_ row: SQLRow, outcome: Int, stored: Int) throws(DatabaseError) {
        switch try row.integer(outcome) {
        case 0: self = .used
        case 1:
            guard let count = UInt32(exactly: try row.integer(stored)) else { throw .malformed }
            self = .notHigher(stored: count)
        case 2: self = .unknown
        case 3: self = .closed
        default: throw .malformed
        }
    }
}

extension AccountDevice {
    fileprivate init(_ row: SQLRow) throws(DatabaseError) {
        self.init(key: try row.keyID(2), label: try row.text(10), joinedAt: try row.integer(7))
    }
}

extension SQLRow {
    func accountID(_ column: Int) throws(DatabaseError) -> AccountID {
        guard let id = AccountID(bytes: try bytes(column)) else { throw .malformed }
        return id
    }

    func origin(_ column: Int, proof: Int) throws(DatabaseError) -> AccountOrigin {
        let bytes = try isNull(proof) ? nil : try self.bytes(proof)
        guard let kind = AccountOrigin.Kind(rawValue: try integer(column)),
            let origin = AccountOrigin(kind, proof: bytes)
        else { throw .malformed }
        return origin
    }
}
