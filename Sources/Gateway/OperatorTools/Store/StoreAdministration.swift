import GatewayServer
import Glibc
import KeyStore
import KeyStorePostgreSQL
import KeyStoreSQLite
import Observability
import PostgreSQL
package import Settings
import WireText

/// The operator's maintenance of a key store, which a gateway may be using at the same time.
package struct StoreAdministration {
    private let store: any MaintainedStore

    /// - Parameter location: an existing store; it isn't created.
    package init(_ location: StoreLocation) {
        store =
            switch location {
            case .file(let path): StoreFile(path: path)
            case .database(let configuration): StoreDatabase(configuration: configuration)
            }
    }

    /// - Returns: what to tell the operator.
    package func backUp(to target: String, replacing: Bool) throws(OperatorError) -> String {
        try store.backUp(to: target, replacing: replacing)
    }

    /// Checks the store and all its records.
    package func check() -> StoreReport { StoreReport(store: store.name, findings: store.check()) }
}

/// A store with the maintenance that its kind has.
private protocol MaintainedStore: Sendable {
    var name: String { get }

    func backUp(to target: String, replacing: Bool) throws(OperatorError) -> String
    func check() -> [StoreFinding]
}

private struct StoreFile: MaintainedStore {
    let path: String

    var name: String { NamedFile.absolute(path) }

    func backUp(to target: String, replacing: Bool) throws(OperatorError) -> String {
        guard access(path, F_OK) == 0 || errno != ENOENT else { throw .noStore(path: path) }
        do throws(SQLiteBackupError) {
            let copy = try SQLiteBackup(of: path, to: target, replacing: replacing)
            return "\(EscapedText(target)) is a copy of the store with \(copy.keys) keys (\(copy.bytes) bytes)"
        } catch {
            switch error {
            case .store(let reason): throw .store("\(EscapedText(reason.cause))")
            case .copy(let reason): throw .copy(reason.cause)
            case .exists: throw .copyExists(path: target)
            case .isTheStore: throw .isTheStore
            }
        }
    }

    func check() -> [StoreFinding] { SQLiteStoreCheck(path: path, rules: RegistrationRules.current).findings }
}

private struct StoreDatabase: MaintainedStore {
    /// For a page of keys with their receipts.
    private static let answerBytes = 256 << 20

    let configuration: FleetStoreConfiguration

    var name: String { "\(configuration)" }

    func backUp(to target: String, replacing: Bool) throws(OperatorError) -> String {
        throw .databaseBackup("\(configuration)")
    }

    func check() -> [StoreFinding] {
        guard let sealing = SealedSecrets(keys: configuration.secretKeys) else {
            return [.error(.secrets, OperatorError.secretKeys.text, OperatorError.secretKeys.hint ?? "")]
        }
        var options = configuration.sessionOptions
        options.maximumAnswerBytes = Self.answerBytes
        return PostgreSQLStoreCheck(
            options, sealing: sealing, transport: transport, rules: RegistrationRules.current
        ).findings
    }

    private var transport: PostgreSQLStoreCheck.Transport {
        if configuration.url.isLocal { return .local }
        return configuration.url.isVerified ? .verified : .unverified
    }
}

/// The result of a check.
package struct StoreReport: Sendable {
    let store: String
    private let findings: [StoreFinding]

    init(store: String, findings: [StoreFinding]) { (self.store, self.findings) = (store, findings) }

    package var isGood: Bool { findings.allSatisfy { $0.grade < .error } }

    /// A line for each finding, and one for what is to be done about it.
    package var text: String {
        findings.map { finding in
            "\(finding.grade.rawValue): \(finding.subject.rawValue): \(EscapedText(finding.text))"
                + (finding.remedy.map { "\n    \(EscapedText($0))" } ?? "")
        }.joined(separator: "\n")
    }

    /// One object in one line.
    package var json: String {
        var writer = JSONWriter()
        writer.member("store", store)
        writer.member("good", isGood)
        writer.member(
            "findings",
            json: findings.map { finding in
                var writer = JSONWriter()
                writer.member("check", finding.subject.rawValue)
                writer.member("state", finding.grade.rawValue)
                writer.member("text", finding.text)
                if let remedy = finding.remedy { writer.member("remedy", remedy) }
                return writer.object
            })
        return String(decoding: writer.object, as: UTF8.self)
    }
}

extension OperatorError {
    static func copy(_ reason: String) -> OperatorError {
        OperatorError(
            "the copy can't be made: \(EscapedText(reason))",
            hint: "no file was left. Free some space, or name a file in another directory.")
    }

    static func copyExists(path: String) -> OperatorError {
        OperatorError(
            "\(EscapedText(path)) exists", hint: "name another file, or replace this one with --force.")
    }

    static let isTheStore = OperatorError(
        "this file belongs to the store itself", hint: "name a file elsewhere, best on another disk.")

    /// - Parameter name: the database's.
    static func databaseBackup(_ name: String) -> OperatorError {
        OperatorError(
            "\(EscapedText(name)) is backed up with PostgreSQL's own tools, not with this command",
            hint: """
                pg_basebackup and archived WAL, or pg_dump --schema=portcullis --no-unlogged-table-data. What the unlogged tables have \
                (home, spent, ticket, gateway, session, holding) must not come back: a restored database begins a new incarnation, so that no assertion of before is admitted again. Keep \
                STORE_SECRETS_KEY_PATH elsewhere. portcullis store export FILE makes a copy that a single gateway can use.
                """)
    }
}
