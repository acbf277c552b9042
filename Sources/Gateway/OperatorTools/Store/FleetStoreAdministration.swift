import GatewayServer
import Glibc
import KeyStore
import KeyStorePostgreSQL
import KeyStoreSQLite
import Observability
import PostgreSQL
package import Settings

/// The operator's maintenance of a fleet's database. The calls block.
package struct FleetStoreAdministration {
    /// For a page of keys with their receipts.
    private static let answerBytes = 256 << 20
    /// For a step of a migration, which may make an index. It waits for locks no longer than anything else.
    private static let migrationMilliseconds = 600_000

    let configuration: FleetStoreConfiguration
    private let sealing: SealedSecrets

    package init(_ configuration: FleetStoreConfiguration) throws(OperatorError) {
        self.configuration = configuration
        guard let sealing = SealedSecrets(keys: configuration.secretKeys) else { throw .secretKeys }
        self.sealing = sealing
    }

    /// - Returns: what to tell the operator.
    package func migrate() throws(OperatorError) -> String {
        let session = try connect(within: Self.migrationMilliseconds)
        let schema = PostgreSQLSchema.current
        let old = try schemaErrors { () throws(PostgreSQLSchemaError) in try schema.migrate(session) }
        return switch old {
        case 0: "created the tables of version \(schema.version) in \(configuration)"
        case schema.version: "\(configuration) has version \(schema.version) already"
        default: "upgraded \(configuration) from version \(old) to \(schema.version)"
        }
    }

    /// - Parameter progress: called with the number of keys so far.
    package func importFile(_ path: String, progress: (Int) -> Void) throws(OperatorError) -> String {
        guard access(path, F_OK) == 0 || errno != ENOENT else { throw .noFile(path: path) }
        let file = try verified(path)
        let database = try transfer(reading: false)
        let report = try copy(from: file, to: database, progress)
        return "imported \(report) into \(configuration)"
    }

    /// The file's content of one moment, of which every record was checked: nothing is copied if one is wrong.
    private func verified(_ path: String) throws(OperatorError) -> SQLiteStoreReader {
        var survey = StoreSurvey(by: RegistrationRules.current)
        let file: SQLiteStoreReader
        do throws(KeyRegistryError) {
            file = try SQLiteStoreReader(path: path)
            try file.survey(into: &survey)
        } catch {
            throw .file(path: path, error.cause)
        }
        guard survey.isGood else { throw .records(path: path, survey.faults, count: survey.faultCount) }
        return file
    }

    package func exportFile(_ path: String, progress: (Int) -> Void) throws(OperatorError) -> String {
        guard access(path, F_OK) != 0, errno == ENOENT else { throw .exists(path: path) }
        // First, so that no empty file is left if the database can't be used.
        let database = try transfer(reading: true)
        let file = try create(path)
        let report = try copy(from: database, to: file, progress)
        return "exported \(report) into \(EscapedText(path))"
    }

    private func copy(
        from source: some ReadableStore, to target: some TransferableStore, _ progress: (Int) -> Void
    ) throws(OperatorError) -> String {
        var transfer = StoreTransfer()
        do throws(KeyRegistryError) {
            try transfer.copy(from: source, to: target, progress: progress)
        } catch {
            throw .copying("\(error)")
        }
        return
            "\(transfer.keys) keys, of which \(transfer.revokedKeys) are revoked, \(transfer.tokens) development tokens"
            + " and \(transfer.signingKeys) signing keys, and \(transfer.accounts) accounts"
    }

    private func create(_ path: String) throws(OperatorError) -> SQLiteKeyDatabase {
        do throws(KeyRegistryError) {
            return try SQLiteKeyDatabase(path: path)
        } catch {
            throw .file(path: path, error.cause)
        }
    }

    private func transfer(reading: Bool) throws(OperatorError) -> PostgreSQLTransfer {
        let session = try connect()
        return try schemaErrors { () throws(PostgreSQLSchemaError) in
            try PostgreSQLTransfer(session, sealing: sealing, reading: reading)
        }
    }

    /// - Parameters:
    ///   - attributes: which servers will do; nil: those that can be written, unless the settings say something else.
    ///   - milliseconds: for each statement; nil: as for any tool.
    func connect(
        attributes: String? = nil, within milliseconds: Int? = nil
    ) throws(OperatorError) -> PostgreSQLConnection {
        var options = configuration.sessionOptions
        if let attributes { options.parameters["target_session_attrs"] = attributes }
        options.maximumAnswerBytes = Self.answerBytes
        do throws(DatabaseError) {
            return try PostgreSQLConnection(options, within: milliseconds)
        } catch {
            throw .database("\(configuration)", "\(error)")
        }
    }

    private func schemaErrors<Value>(
        _ body: () throws(PostgreSQLSchemaError) -> Value
    ) throws(OperatorError) -> Value {
        do throws(PostgreSQLSchemaError) { return try body() } catch { throw .database("\(configuration)", "\(error)") }
    }
}

extension OperatorError {
    private static let nameFile = "name the SQLite file of a gateway."

    static func file(path: String, _ reason: String) -> OperatorError {
        OperatorError(
            "\(EscapedText(NamedFile.absolute(path))) can't be used: \(EscapedText(reason))", hint: nameFile)
    }

    static func noFile(path: String) -> OperatorError {
        OperatorError("no database at \(EscapedText(NamedFile.absolute(path)))", hint: nameFile)
    }

    /// - Parameters:
    ///   - faults: the first ones.
    ///   - count: of all.
    static func records(path: String, _ faults: [RecordFault], count: Int) -> OperatorError {
        OperatorError(
            "nothing is imported: \(EscapedText(NamedFile.absolute(path))) has \(count) faults in records that no gateway"
                + " can have stored so" + faults.map { "\n    \(EscapedText("\($0)"))" }.joined()
                + (count > faults.count ? "\n    and \(count - faults.count) more" : ""),
            hint: "find out how they came there, and remove them from a copy of the file.")
    }

    static func exists(path: String) -> OperatorError {
        OperatorError("\(EscapedText(path)) exists", hint: "name a file that doesn't exist.")
    }

    static func copying(_ reason: String) -> OperatorError {
        OperatorError(
            "not everything is copied: \(EscapedText(reason))", hint: "run the command again: what was copied is kept.")
    }
}
