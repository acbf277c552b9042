import Glibc
import KeyStore
import KeyStoreSQLite
import Observability
import Settings
import WireText

/// The operator's maintenance of the key store's file, which a gateway may be using at the same time.
package struct StoreAdministration {
    private let path: String

    /// - Parameter path: an existing store; it isn't created.
    package init(path: String) { self.path = path }

    /// - Returns: what to tell the operator.
    package func backUp(to target: String, replacing: Bool) throws(StoreAdministrationError) -> String {
        guard access(path, F_OK) == 0 || errno != ENOENT else { throw .noStore(path: path) }
        do throws(SQLiteBackupError) {
            let copy = try SQLiteBackup(of: path, to: target, replacing: replacing)
            return "\(EscapedText(target)) is a copy of the store with \(copy.keys) keys (\(copy.bytes) bytes)"
        } catch {
            switch error {
            case .store(let reason): throw .store(reason.cause)
            case .copy(let reason): throw .copy(reason.cause)
            case .exists: throw .exists(path: target)
            case .isTheStore: throw .isTheStore
            }
        }
    }

    /// Checks the files and all records.
    package func check() -> StoreReport { StoreReport(path: path, check: SQLiteStoreCheck(path: path)) }
}

/// The result of a check.
package struct StoreReport: Sendable {
    let path: String
    private let check: SQLiteStoreCheck

    init(path: String, check: SQLiteStoreCheck) { (self.path, self.check) = (path, check) }

    package var isGood: Bool { check.isGood }

    /// A line for each finding, and one for what is to be done about it.
    package var text: String {
        check.findings.map { finding in
            "\(finding.grade.rawValue): \(finding.subject.rawValue): \(EscapedText(finding.text))"
                + (finding.remedy.map { "\n    \(EscapedText($0))" } ?? "")
        }.joined(separator: "\n")
    }

    /// One object in one line.
    package var json: String {
        var writer = JSONWriter()
        writer.member("store", NamedFile.absolute(path))
        writer.member("good", isGood)
        writer.member(
            "findings",
            json: check.findings.map { finding in
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

package enum StoreAdministrationError: Error, CustomStringConvertible {
    case store(String)
    /// The gateway hasn't run yet, or the path is wrong.
    case noStore(path: String)
    case copy(String)
    case exists(path: String)
    case isTheStore

    package var description: String {
        switch self {
        case .store(let reason): "the key store can't be used: \(EscapedText(reason))"
        case .noStore(let path): "no database at \(EscapedText(NamedFile.absolute(path)))"
        case .copy(let reason): "the copy can't be made: \(EscapedText(reason))"
        case .exists(let path): "\(EscapedText(path)) exists"
        case .isTheStore: "this file belongs to the store itself"
        }
    }

    package var hint: String {
        switch self {
        case .store: "portcullis store check says what is wrong with it."
        case .noStore: "give the store's path with --store, or set ATTESTED_KEYS_PATH."
        case .copy: "no file was left. Free some space, or name a file in another directory."
        case .exists: "name another file, or replace this one with --force."
        case .isTheStore: "name a file elsewhere, best on another disk."
        }
    }
}
