import GRDB
package import KeyStore

/// Checks a store, also while a gateway uses it: it only reads, and locks nobody out.
package struct SQLiteStoreCheck: Sendable {
    /// Faults that `integrity_check` lists.
    private static let maximumFaults = 10
    private static let restore = "Stop the gateway, keep a copy of the file, and restore a backup (docs/RUNNING.md)."

    package let findings: [StoreFinding]

    package var isGood: Bool { findings.allSatisfy { $0.grade < .error } }

    /// Reads the whole file, on the caller's thread.
    package init(path: String, rules: any RecordRules) {
        let files = StoreFileCheck(path: path)
        findings = files.findings + (files.isFile ? Self.checkContent(path, rules) : [])
    }

    private static func checkContent(_ path: String, _ rules: any RecordRules) -> [StoreFinding] {
        do throws(KeyRegistryError) {
            let store = try SQLiteConnectionPool(
                SQLiteStoreFile(path: path, creating: false), access: .readOnly, size: 1, busyMilliseconds: 5_000)
            try store.use { try SQLiteSchema.checkIdentity(of: $0) }
            return [.good(.schema, "version \(SQLiteSchema.version)"), checkIntegrity(store)]
                + checkRecords(path, rules)
        } catch {
            return [.error(.schema, error.cause, error == .busy ? "Try again later." : restore)]
        }
    }

    private static func checkIntegrity(_ store: SQLiteConnectionPool) -> StoreFinding {
        do throws(KeyRegistryError) {
            let faults = try store.use {
                try String.fetchAll($0, sql: "PRAGMA integrity_check(\(maximumFaults))")
                    + (try Row.fetchAll($0, sql: "PRAGMA foreign_key_check").map { _ in "a foreign key is violated" })
            }
            guard faults == ["ok"] else {
                return .error(.integrity, "SQLite finds \(faults.joined(separator: "; "))", restore)
            }
            return .good(.integrity, "SQLite finds no fault")
        } catch {
            return .error(.integrity, error.cause, restore)
        }
    }

    /// Reads every record, as a tool does that doesn't trust the file.
    private static func checkRecords(_ path: String, _ rules: any RecordRules) -> [StoreFinding] {
        var survey = StoreSurvey(by: rules)
        do throws(KeyRegistryError) {
            try SQLiteStoreReader(path: path).survey(into: &survey)
        } catch {
            return survey.findings(restore).filter { $0.grade == .error } + [.error(.records, error.cause, restore)]
        }
        return survey.findings(restore)
    }
}
