package import KeyStore
import PostgreSQL

extension PostgreSQLKeyRegistry: AccountStore {
    package func account(_ id: AccountID) async throws(KeyRegistryError) -> Account? {
        try await answer(.account, [.bytes(id.bytes)]) { rows throws(DatabaseError) in
            try Account.read(rows).first
        }
    }

    package func accounts(after: AccountID?, limit: Int) async throws(KeyRegistryError) -> [Account] {
        guard limit > 0 else { return [] }
        let limit = Int64(min(limit, AccountLimits.largestPage))
        return try await answer(.accounts, [.bytes(after?.bytes ?? []), .integer(limit)]) {
            rows throws(DatabaseError) in
            try Account.read(rows)
        }
    }

    package func passkey(_ mark: PasskeyMark) async throws(KeyRegistryError) -> FoundPasskey? {
        try await answer(.passkey, [.bytes(mark.bytes)], within: nil) { rows throws(DatabaseError) in
            try rows.first.map { row throws(DatabaseError) in try FoundPasskey(row) }
        }
    }

    package func standing(ofAccount id: AccountID) async throws(KeyRegistryError) -> AccountStanding? {
        try await answer(.accountStanding, [.bytes(id.bytes)], within: nil) { rows throws(DatabaseError) in
            try AccountStanding.read(rows, of: id)
        }
    }

    package func account(ofDevice key: KeyID) async throws(KeyRegistryError) -> AccountID? {
        try await answer(.accountOfDevice, [.bytes(key.bytes)], within: nil) { rows throws(DatabaseError) in
            try rows.first.map { row throws(DatabaseError) in try row.accountID(0) }
        }
    }

    // MARK: Changing

    package func begin(_ account: Account, maximum: Int) async throws(KeyRegistryError) -> AccountBeginning {
        guard let passkey = account.passkeys.first, account.passkeys.count == 1, account.isWellFormed else {
            throw .unavailable("an account begins with one passkey")
        }
        let values: [SQLValue] = [
            .bytes(account.id.bytes), .integer(account.origin.kind.rawValue), .optional(account.origin.proof),
            .integer(account.madeAt), .integer(Int64(maximum)),
        ]
        return try await answer(.beginAccount, values + passkey.values) { rows throws(DatabaseError) in
            switch try rows.only().integer(0) {
            case 0: return .begun
            case 1: return .passkeyTaken
            case 2: return .full
            case 3: return .accountTaken
            default: throw .malformed
            }
        }
    }

    package func add(_ passkey: Passkey, to id: AccountID) async throws(KeyRegistryError) -> PasskeyAddition {
        guard passkey.isWellFormed else { throw .unavailable("the passkey is malformed") }
        return try await answer(.addPasskey, [.bytes(id.bytes)] + passkey.values) { rows throws(DatabaseError) in
            switch try rows.only().integer(0) {
            case 0: return .added
            case 1: return .taken
            case 2: return .tooMany
            case 3: return .closed
            case 4: return .unknownAccount
            default: throw .malformed
            }
        }
    }

    package func join(_ device: AccountDevice, to id: AccountID) async throws(KeyRegistryError) -> DeviceJoining {
        let values: [SQLValue] = [
            .bytes(id.bytes), .bytes(device.key.bytes), .text(device.label), .integer(device.joinedAt),
        ]
        return try await answer(.joinDevice, values) { rows throws(DatabaseError) in
            switch try rows.only().integer(0) {
            case 0: return .joined
            case 1: return .alreadyJoined
            case 2: return .taken
            case 3: return .tooMany
            case 4: return .closed
            case 5: return .unknownAccount
            case 6: return .unknownDevice
            default: throw .malformed
            }
        }
    }

    package func use(
        _ use: PasskeyUse, spending mark: (SingleUseMark, StoreIncarnation)?
    ) async throws(KeyRegistryError) -> PasskeySpending {
        let values: [SQLValue] = [
            .bytes(use.mark.bytes), .integer(Int64(use.signCount)), .integer(use.flags), .integer(use.time),
        ]
        guard let (mark, incarnation) = mark else {
            return try await answer(.usePasskey, values, within: nil) { rows throws(DatabaseError) in
                try PasskeySpending(try rows.only(), outcome: 0, stored: 1)
            }
        }
        return try await answer(.signIn, mark.values(in: incarnation) + values, within: nil) {
            rows throws(DatabaseError) in
            let row = try rows.only()
            let spending = try MarkSpending(row, 0)
            return spending == .spent ? try PasskeySpending(row, outcome: 1, stored: 2) : .refused(spending)
        }
    }

    package func remove(
        _ mark: PasskeyMark, of id: AccountID, at time: Int64
    ) async throws(KeyRegistryError) -> Bool {
        try await isDone(.removePasskey, [.bytes(id.bytes), .bytes(mark.bytes), .integer(time)])
    }

    package func remove(
        device key: KeyID, of id: AccountID, at time: Int64
    ) async throws(KeyRegistryError) -> Bool {
        try await isDone(.removeDevice, [.bytes(id.bytes), .bytes(key.bytes), .integer(time)])
    }

    package func close(_ id: AccountID, at time: Int64) async throws(KeyRegistryError) -> Bool {
        try await isDone(.closeAccount, [.bytes(id.bytes), .integer(time)])
    }

    package func forget(_ id: AccountID, at time: Int64) async throws(KeyRegistryError) -> Bool {
        try await isDone(.forgetAccount, [.bytes(id.bytes), .integer(time)])
    }

    private func isDone(_ statement: SQLStatement, _ values: [SQLValue]) async throws(KeyRegistryError) -> Bool {
        try await answer(statement, values) { rows throws(DatabaseError) in try rows.only().boolean(0) }
    }

    package func expireAccounts(madeBefore: Int64, at time: Int64) async throws(KeyRegistryError) -> Int {
        let values: [SQLValue] = [
            .integer(madeBefore), .integer(time - AccountLimits.endKeptMilliseconds),
            .integer(Int64(AccountLimits.maximumExpired)),
        ]
        return try await answer(.expireAccounts, values) { rows throws(DatabaseError) in
            Int(clamping: try rows.only().integer(0))
        }
    }
}

extension PostgreSQLKeyRegistry: SharedAccountStandings {
    package func standing(
        ofAccount id: AccountID, then: @escaping @Sendable (Result<AccountStanding?, KeyRegistryError>) -> Void
    ) {
        answer(
            .accountStanding, [.bytes(id.bytes)],
            { rows throws(DatabaseError) in try AccountStanding.read(rows, of: id) }, then: then)
    }
}

extension SQLStatement {
    /// Rows of one account: itself, its passkeys, its devices.
    private static let rowsOfAccount = 1 + AccountLimits.maximumPasskeys + AccountLimits.maximumDevices

    static let account = SQLStatement(
        "account", maximumRows: rowsOfAccount, Account.rows(of: "SELECT $1::bytea AS account_id"))
    static let accounts = SQLStatement(
        "accounts", maximumRows: rowsOfAccount * AccountLimits.largestPage,
        Account.rows(
            of: """
                SELECT account_id FROM portcullis.account WHERE account_id > $1::bytea
                ORDER BY account_id LIMIT $2::int8
                """))
    fileprivate static let passkey = SQLStatement(
        "passkey",
        """
        SELECT p.account_id, 1::int8, p.mark, p.credential_id, p.public_key, p.aaguid, p.sign_count, p.made_at,
            p.last_used_at, p.flags, p.label, p.attestation, a.origin, a.proof, a.closed_at IS NOT NULL
        FROM portcullis.passkey p JOIN portcullis.account a ON a.account_id = p.account_id WHERE p.mark = $1::bytea
        """)
    fileprivate static let accountStanding = SQLStatement(
        "account_standing", maximumRows: AccountLimits.maximumPasskeys + RefreshLimits.maximumFamilies,
        """
        SELECT a.origin, a.proof, a.closed_at IS NOT NULL, p.mark, p.family_id
        FROM portcullis.account a LEFT JOIN (
            SELECT account_id, mark, NULL::bytea AS family_id FROM portcullis.passkey WHERE account_id = $1::bytea
            UNION ALL
            SELECT account_id, NULL::bytea, family_id FROM portcullis.refresh_family
            WHERE account_id = $1::bytea AND epoch = (SELECT portcullis.refresh_epoch())) p
        ON p.account_id = a.account_id
        WHERE a.account_id = $1::bytea
        """)
    fileprivate static let accountOfDevice = SQLStatement(
        "account_of_device", "SELECT account_id FROM portcullis.account_device WHERE key_id = $1::bytea")
    fileprivate static let beginAccount = SQLStatement(
        "begin_account", isDurable: true,
        """
        SELECT portcullis.begin_account($1::bytea, $2::int8, $3::bytea, $4::int8, $5::int8, $6::bytea, $7::bytea,
            $8::bytea, $9::int8, $10::int8, $11::bytea, $12::text, $13::text, $14::int8)
        """)
    fileprivate static let addPasskey = SQLStatement(
        "add_passkey", isDurable: true,
        """
        SELECT portcullis.add_passkey($1::bytea, $2::bytea, $3::bytea, $4::bytea, $5::int8, $6::int8, $7::bytea,
            $8::text, $9::text, $10::int8)
        """)
    fileprivate static let joinDevice = SQLStatement(
        "join_device", isDurable: true, "SELECT portcullis.join_device($1::bytea, $2::bytea, $3::text, $4::int8)")
    fileprivate static let usePasskey = SQLStatement(
        "use_passkey",
        "SELECT outcome, stored FROM portcullis.use_passkey($1::bytea, $2::int8, $3::int8, $4::int8)")
    fileprivate static let signIn = SQLStatement(
        "sign_in",
        """
        SELECT spending, outcome, stored FROM portcullis.sign_in($1::bytea, $2::int8, $3::bytea, $4::int8, $5::bytea,
            $6::int8, $7::int8, $8::int8)
        """)
    fileprivate static let removePasskey = SQLStatement(
        "remove_passkey", isDurable: true, "SELECT portcullis.remove_passkey($1::bytea, $2::bytea, $3::int8)")
    fileprivate static let removeDevice = SQLStatement(
        "remove_device", isDurable: true, "SELECT portcullis.remove_device($1::bytea, $2::bytea, $3::int8)")
    fileprivate static let closeAccount = SQLStatement(
        "close_account", isDurable: true, "SELECT portcullis.close_account($1::bytea, $2::int8)")
    fileprivate static let forgetAccount = SQLStatement(
        "forget_account", isDurable: true, "SELECT portcullis.forget_account($1::bytea, $2::int8)")
    fileprivate static let expireAccounts = SQLStatement(
        "expire_accounts", isDurable: true, "SELECT portcullis.expire_accounts($1::int8, $2::int8, $3::int8)")
}
