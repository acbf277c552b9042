package import KeyStore
import PostgreSQL

/// Accounts of a fleet on their way to another store, and from there.
extension PostgreSQLTransfer {
    package func transferableAccounts(after: AccountID?, limit: Int) throws(KeyRegistryError) -> [Account] {
        let limit = Int64(min(limit, AccountLimits.largestPage))
        do throws(DatabaseError) {
            return try Account.read(session.run(.accounts, [.bytes(after?.bytes ?? []), .integer(limit)]))
        } catch {
            throw KeyRegistryError(error)
        }
    }

    package func transferableRemovals(
        after: AccountRemoval?, limit: Int
    ) throws(KeyRegistryError) -> [AccountRemoval] {
        let last = after.map(EndedSubject.init)
        let values: [SQLValue] = [
            .integer(last?.kind.rawValue ?? 0), .bytes(last?.bytes ?? []),
            .integer(Int64(min(limit, StoreTransfer.batch))),
        ]
        return try answer(.accountRemovals, values) { row throws(DatabaseError) in
            try AccountRemoval(EndedSubject(row), at: row.integer(2))
        }
    }

    /// Each is a transaction, so that no lock is taken behind that of the feed.
    package func complete(removals: [AccountRemoval]) throws(KeyRegistryError) {
        for removal in removals {
            let ended = EndedSubject(removal)
            let statement: SQLStatement = ended.kind == .account ? .removeAccount : .removeAnyPasskey
            _ = try answer(statement, [.bytes(ended.bytes), .integer(removal.time)]) { _ in }
            let values: [SQLValue] = [.integer(ended.kind.rawValue), .bytes(ended.bytes), .integer(removal.time)]
            _ = try answer(.noteEnd, values) { _ in }
        }
    }

    package func complete(accounts: [Account]) throws(KeyRegistryError) {
        do throws(DatabaseError) {
            try session.transaction { () throws(DatabaseError) in
                var changed: [Account] = []
                for account in accounts {
                    if let completed = try complete(account) { changed.append(completed) }
                }
                // The lock of the feed is the last one.
                for account in changed {
                    let keys = account.devices.map { SQLValue.bytes($0.key.bytes) }
                    try session.run(.noteAccount, [.bytes(account.id.bytes), .array(of: .bytes, keys)])
                }
            }
        } catch {
            throw KeyRegistryError(error)
        }
    }

    /// - Returns: nil if nothing was changed.
    private func complete(_ account: Account) throws(DatabaseError) -> Account? {
        let id = SQLValue.bytes(account.id.bytes)
        try session.run(.lockAccount, [id])
        let known = try Account.read(session.run(.account, [id])).first
        if known == nil, try session.run(.hasEnded, [id]).only().boolean(0) { return nil }
        let given = account.without(try taken(of: account), keeping: try keys(of: account))
        let completed = known?.completed(by: given) ?? given
        guard completed != known else { return nil }
        try session.run(.completeAccount, completed.values)
        for passkey in completed.passkeys {
            try session.run(.completePasskey, [id] + passkey.values + [.optional(passkey.lastUsedAt)])
        }
        for device in completed.devices {
            try session.run(
                .completeDevice, [id, .bytes(device.key.bytes), .text(device.label), .integer(device.joinedAt)])
        }
        if let time = completed.closedAt { try session.run(.noteEnd, [.integer(1), id, .integer(time)]) }
        return completed
    }

    private func taken(of account: Account) throws(DatabaseError) -> Set<PasskeyMark> {
        let marks = account.passkeys.map { SQLValue.bytes($0.mark.bytes) }
        let rows = try session.run(.takenPasskeys, [.bytes(account.id.bytes), .array(of: .bytes, marks)])
        return Set(
            try rows.map { row throws(DatabaseError) in
                guard let mark = PasskeyMark(bytes: try row.bytes(0)) else { throw .malformed }
                return mark
            })
    }

    private func keys(of account: Account) throws(DatabaseError) -> Set<KeyID> {
        let keys = account.devices.map { SQLValue.bytes($0.key.bytes) }
        let rows = try session.run(.freeDevices, [.bytes(account.id.bytes), .array(of: .bytes, keys)])
        return Set(try rows.map { row throws(DatabaseError) in try row.keyID(0) })
    }
}

extension EndedSubject {
    fileprivate init(_ removal: AccountRemoval) {
        switch removal.subject {
        case .account(let id): self.init(.account, id.bytes)
        case .passkey(let mark): self.init(.passkey, mark.bytes)
        }
    }
}

extension AccountRemoval {
    fileprivate init(_ ended: EndedSubject, at time: Int64) throws(DatabaseError) {
        switch ended.kind {
        case .account:
            guard let id = AccountID(bytes: ended.bytes) else { throw .malformed }
            self.init(.account(id), at: time)
        case .passkey:
            guard let mark = PasskeyMark(bytes: ended.bytes) else { throw .malformed }
            self.init(.passkey(mark), at: time)
        // Sessions have ended with it; nothing is left to remove elsewhere.
        case .departure, .family: throw .malformed
        }
    }
}

extension Account {
    fileprivate var values: [SQLValue] {
        [
            .bytes(id.bytes), .integer(origin.kind.rawValue), .optional(origin.proof), .integer(madeAt),
            .optional(lastUsedAt), .optional(closedAt),
        ]
    }
}

extension SQLStatement {
    fileprivate static let accountRemovals = SQLStatement(
        "account_removals", maximumRows: StoreTransfer.batch,
        """
        SELECT e.kind, e.subject, e.ended_at FROM portcullis.account_end e
        WHERE (e.kind, e.subject) > ($1::int8, $2::bytea) AND (
            e.kind = 1 AND octet_length(e.subject) = \(AccountID.length)
                AND NOT EXISTS (SELECT 1 FROM portcullis.account a WHERE a.account_id = e.subject)
            OR e.kind = 2 AND octet_length(e.subject) = \(PasskeyMark.length)
                AND NOT EXISTS (SELECT 1 FROM portcullis.passkey p WHERE p.mark = e.subject))
        ORDER BY e.kind, e.subject LIMIT $3::int8
        """)
    fileprivate static let removeAccount = SQLStatement(
        "remove_account", isDurable: true, "SELECT portcullis.forget_account($1::bytea, $2::int8)")
    fileprivate static let removeAnyPasskey = SQLStatement(
        "remove_any_passkey", isDurable: true,
        """
        SELECT portcullis.remove_passkey(p.account_id, p.mark, $2::int8) FROM portcullis.passkey p
        WHERE p.mark = $1::bytea
        """)
    fileprivate static let noteEnd = SQLStatement(
        "note_end", isDurable: true,
        "INSERT INTO portcullis.account_end VALUES ($1::int8, $2::bytea, $3::int8) ON CONFLICT DO NOTHING")
    fileprivate static let noteAccount = SQLStatement(
        "note_account", maximumRows: AccountLimits.maximumDevices + 1,
        """
        SELECT portcullis.note(n.kind, n.subject) FROM (
            SELECT \(StoreChanges.Kind.account.rawValue)::int8 AS kind, $1::bytea AS subject
            UNION ALL SELECT \(StoreChanges.Kind.key.rawValue)::int8, k FROM unnest($2::bytea[]) k) n
        """)
    fileprivate static let lockAccount = SQLStatement(
        "lock_account", "SELECT true FROM portcullis.account WHERE account_id = $1::bytea FOR UPDATE")
    fileprivate static let hasEnded = SQLStatement(
        "has_ended", "SELECT EXISTS (SELECT 1 FROM portcullis.account_end WHERE kind = 1 AND subject = $1::bytea)")
    fileprivate static let takenPasskeys = SQLStatement(
        "taken_passkeys", maximumRows: 2 * AccountLimits.maximumPasskeys,
        """
        SELECT mark FROM portcullis.passkey WHERE mark = ANY ($2::bytea[]) AND account_id <> $1::bytea
        UNION SELECT subject FROM portcullis.account_end WHERE kind = 2 AND subject = ANY ($2::bytea[])
        """)
    fileprivate static let freeDevices = SQLStatement(
        "free_devices", maximumRows: AccountLimits.maximumDevices,
        """
        SELECT k.key_id FROM portcullis.device_key k
            LEFT JOIN portcullis.account_device d ON d.key_id = k.key_id AND d.account_id <> $1::bytea
        WHERE k.key_id = ANY ($2::bytea[]) AND octet_length(k.public_key) > 0 AND d.key_id IS NULL
        """)
    fileprivate static let completeAccount = SQLStatement(
        "complete_account", isDurable: true,
        """
        INSERT INTO portcullis.account VALUES ($1::bytea, $2::int8, $3::bytea, $4::int8, $5::int8, $6::int8)
        ON CONFLICT (account_id) DO UPDATE
        SET last_used_at = excluded.last_used_at, closed_at = excluded.closed_at
        """)
    /// A passkey that another account has got meanwhile stays its own.
    fileprivate static let completePasskey = SQLStatement(
        "complete_passkey", isDurable: true,
        """
        INSERT INTO portcullis.passkey AS p (
            account_id, mark, credential_id, public_key, sign_count, flags, aaguid, attestation, label, made_at,
            last_used_at)
        VALUES ($1::bytea, $2::bytea, $3::bytea, $4::bytea, $5::int8, $6::int8, $7::bytea, $8::text, $9::text,
            $10::int8, $11::int8)
        ON CONFLICT (mark) DO UPDATE
        SET sign_count = excluded.sign_count, flags = excluded.flags, last_used_at = excluded.last_used_at
        WHERE p.account_id = excluded.account_id
        """)
    fileprivate static let completeDevice = SQLStatement(
        "complete_device", isDurable: true,
        """
        INSERT INTO portcullis.account_device (account_id, key_id, label, joined_at)
        VALUES ($1::bytea, $2::bytea, $3::text, $4::int8) ON CONFLICT DO NOTHING
        """)
}
