import FoundationEssentials
import GRDB
package import KeyStore

/// Reads a store's file that anybody may have made, and changes nothing in it: the records of one moment, each
/// verified, in bounded memory.
///
/// The form of its tables is checked first (`SQLiteSchemaForm`), and no value is longer than
/// ``SQLiteLimits/valueBytes``.
package final class SQLiteStoreReader: ReadableStore {
    private static let busySeconds = 5.0

    private let queue: DatabaseQueue

    /// - Throws: `.unavailable` when the file can't be used, isn't a key store, or has another form.
    package init(path: String) throws(KeyRegistryError) {
        let file = try SQLiteStoreFile(path: path, creating: false)
        var configuration = Configuration()
        configuration.readonly = true
        configuration.foreignKeysEnabled = false
        // One transaction, as long as the reader lives.
        configuration.allowsUnsafeTransactions = true
        configuration.busyMode = .timeout(Self.busySeconds)
        configuration.prepareDatabase { try SQLiteLimits.apply(to: $0) }
        do {
            queue = try DatabaseQueue(path: file.sqlitePath, configuration: configuration)
            try queue.writeWithoutTransaction { database in
                try database.execute(sql: "BEGIN")
                try SQLiteSchema.checkIdentity(of: database)
                try SQLiteSchemaForm.check(database)
            }
        } catch {
            throw KeyRegistryError(error)
        }
    }

    package func transferableKeys(after: KeyID?, limit: Int) throws(KeyRegistryError) -> [DeviceKey] {
        try use { try DeviceKeyTable.page(after: after, limit: limit, from: $0) }
    }

    package func transferableTokens() throws(KeyRegistryError) -> [TransferredToken] {
        try use { database in
            guard try SQLiteSchemaForm.has("development_token", database) else { return [] }
            return try DevelopmentTokenTable.transferable(in: database)
        }
    }

    package func transferableSigningKeys() throws(KeyRegistryError) -> StoredSigningKeys {
        try use { database in
            guard try SQLiteSchemaForm.has("signing_key", database) else { return StoredSigningKeys() }
            return try SigningKeyTable.keys(in: database)
        }
    }

    package func transferableSecrets() throws(KeyRegistryError) -> [NamedSecret] {
        try use { database in
            guard try SQLiteSchemaForm.has("secret", database) else { return [] }
            return try SigningKeyTable.secrets(in: database)
        }
    }

    package func transferableAccounts(after: AccountID?, limit: Int) throws(KeyRegistryError) -> [Account] {
        try use { database in
            guard try Self.hasAccounts(database) else { return [] }
            return try AccountTable.page(
                after: after, limit: min(limit, AccountLimits.largestPage), from: database)
        }
    }

    package func transferableRemovals(
        after: AccountRemoval?, limit: Int
    ) throws(KeyRegistryError) -> [AccountRemoval] {
        try use { database in
            guard try Self.hasAccounts(database) else { return [] }
            return try AccountEndTable.removals(after: after, limit: limit, in: database)
        }
    }

    fileprivate static func hasAccounts(_ database: Database) throws -> Bool {
        try AccountSchema.tables.allSatisfy { try SQLiteSchemaForm.has($0, database) }
    }

    private func use<Value>(_ body: (Database) throws -> Value) throws(KeyRegistryError) -> Value {
        do { return try queue.writeWithoutTransaction(body) } catch { throw KeyRegistryError(error) }
    }
}

extension SQLiteStoreReader: SurveyedStore {
    package func survey(into survey: inout StoreSurvey) throws(KeyRegistryError) {
        var found = survey
        defer { survey = found }
        try use { database in
            try Self.surveyKeys(database, &found)
            if try SQLiteSchemaForm.has("development_token", database) { try Self.surveyTokens(database, &found) }
            if try SQLiteSchemaForm.has("signing_key", database) { try Self.surveySigningKeys(database, &found) }
            if try SQLiteSchemaForm.has("secret", database) { try Self.surveySecrets(database, &found) }
            if try SQLiteSchemaForm.has("kept_ticket", database) { try Self.surveyTickets(database, &found) }
            if try Self.hasAccounts(database) { try Self.surveyAccounts(database, &found) }
            try Self.surveyLeftovers(database, &found)
        }
    }

    private static func surveyKeys(_ database: Database, _ survey: inout StoreSurvey) throws {
        try each("key_id", of: "device_key", maximum: StoreSurvey.maximumKeys, database, &survey) { value, survey in
            guard case .blob(let data) = value.storage, let id = KeyID(bytes: [UInt8](data)) else {
                return survey.note("its identifier hasn't \(KeyID.length) bytes", in: "a key")
            }
            try attempt(StoreRecord.name(of: id), &survey) {
                try DeviceKeyTable.fetch(id, from: database).map { .key($0) }
            }
        }
    }

    private static func surveyTokens(_ database: Database, _ survey: inout StoreSurvey) throws {
        let maximum = DevelopmentTokenLimits.maximumTokens
        try each("token_hash", of: "development_token", maximum: maximum, database, &survey) { value, survey in
            guard case .blob(let data) = value.storage, let hash = DevelopmentTokenHash(bytes: [UInt8](data)) else {
                return survey.note("its hash hasn't \(DevelopmentTokenHash.length) bytes", in: "a development token")
            }
            try attempt("development token \(hash.id)", &survey) {
                try DevelopmentTokenTable.fetch(hash, from: database).map {
                    .token(try DevelopmentTokenTable.transferable($0, in: database))
                }
            }
        }
    }

    private static func surveySigningKeys(_ database: Database, _ survey: inout StoreSurvey) throws {
        try each("key_id", of: "signing_key", maximum: RecordLimits.secretRows, database, &survey) { value, survey in
            guard case .string(let id) = value.storage else { throw DeviceKeyTable.damage }
            try attempt(StoreRecord.name(ofSigningKey: id), &survey) {
                let stored = try SigningKeyTable.keys(in: database, only: id)
                if let revoked = stored.revoked.first { return .revokedSigningKey(revoked) }
                return stored.keys.first.map { .signingKey($0) }
            }
        }
    }

    private static func surveySecrets(_ database: Database, _ survey: inout StoreSurvey) throws {
        try each("name", of: "secret", maximum: RecordLimits.secretRows, database, &survey) { value, survey in
            guard case .string(let name) = value.storage else { throw DeviceKeyTable.damage }
            try attempt(StoreRecord.name(ofSecret: name), &survey) {
                try SigningKeyTable.secrets(in: database, only: name).first.map { .secret($0) }
            }
        }
    }

    private static func surveyTickets(_ database: Database, _ survey: inout StoreSurvey) throws {
        let maximum = RecordLimits.ticketRows
        try each("number", of: "kept_ticket", maximum: maximum, database, &survey) { value, survey in
            guard case .int64(let number) = value.storage else { throw DeviceKeyTable.damage }
            try attempt(StoreRecord.ticketName, &survey) {
                try KeptTicketTable.fetch(number: number, from: database).map { .ticket($0) }
            }
        }
    }

    private static func surveyAccounts(_ database: Database, _ survey: inout StoreSurvey) throws {
        let maximum = StoreSurvey.maximumAccounts
        try each("account_id", of: "account", maximum: maximum, database, &survey) { value, survey in
            guard case .blob(let data) = value.storage, let id = AccountID(bytes: [UInt8](data)) else {
                return survey.note("its identifier hasn't \(AccountID.length) bytes", in: "an account")
            }
            try attempt(StoreRecord.name(of: id), &survey) {
                try AccountTable.fetch(id, from: database).map { .account($0) }
            }
        }
        for (table, name) in [("passkey", "passkeys"), ("account_device", "devices of accounts")] {
            let lost = "SELECT count(*) FROM \(table) WHERE account_id NOT IN (SELECT account_id FROM account)"
            guard let count = try Int.fetchOne(database, sql: lost), count > 0 else { continue }
            survey.note("\(count) have no account", in: name)
        }
    }

    /// What belongs to no record. It isn't copied, but no store has it.
    private static func surveyLeftovers(_ database: Database, _ survey: inout StoreSurvey) throws {
        let receipts = "SELECT count(*) FROM receipt WHERE key_id NOT IN (SELECT key_id FROM device_key)"
        if let lost = try Int.fetchOne(database, sql: receipts), lost > 0 {
            survey.note("\(lost) have no key", in: "receipts")
        }
        guard try SQLiteSchemaForm.has("development_device", database),
            try SQLiteSchemaForm.has("development_token", database)
        else { return }
        let places = """
            SELECT count(*) FROM development_device
            WHERE token_hash NOT IN (SELECT token_hash FROM development_token)
            """
        if let lost = try Int.fetchOne(database, sql: places), lost > 0 {
            survey.note("\(lost) have no token", in: "places of development tokens")
        }
    }

    /// Walks over a table by its key, of which it holds one at a time. A key that is too long to be read ends the walk.
    private static func each(
        _ key: String, of table: String, maximum: Int, _ database: Database, _ survey: inout StoreSurvey,
        _ body: (DatabaseValue, inout StoreSurvey) throws -> Void
    ) throws {
        let rows = try Row.fetchCursor(database, sql: "SELECT \(key) FROM \(table) ORDER BY \(key)")
        var count = 0
        do {
            while let row = try rows.next() {
                guard count < maximum else { return survey.note("it has more than \(maximum) rows", in: table) }
                count += 1
                try body(row[0], &survey)
            }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_TOOBIG {
            survey.note("a row's \(key) has more than \(SQLiteLimits.valueBytes) bytes", in: table)
        }
    }

    /// Reads one record. What can't be read is a fault of this record alone.
    private static func attempt(
        _ name: String, _ survey: inout StoreSurvey, _ read: () throws -> StoreRecord?
    ) throws {
        do {
            guard let record = try read() else { return survey.note("it can't be found by its name", in: name) }
            survey.take(record)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_TOOBIG {
            survey.note("a value has more than \(SQLiteLimits.valueBytes) bytes", in: name)
        } catch let error as KeyRegistryError where error == DeviceKeyTable.damage {
            survey.note("a value is missing, or of another type, size or form", in: name)
        }
    }
}
