import GRDB
package import KeyStore

/// Checks a store, also while a gateway uses it: it only reads, and locks nobody out.
package struct SQLiteStoreCheck: Sendable {
    /// Faults that `integrity_check` lists.
    private static let maximumFaults = 10
    private static let page = 500
    private static let restore = "Stop the gateway, keep a copy of the file, and restore a backup (docs/OPERATIONS.md)."

    package let findings: [StoreFinding]

    package var isGood: Bool { findings.allSatisfy { $0.grade < .error } }

    /// Reads the whole file, on the caller's thread.
    package init(path: String) {
        let files = StoreFileCheck(path: path)
        findings = files.findings + (files.isFile ? Self.checkContent(path) : [])
    }

    private static func checkContent(_ path: String) -> [StoreFinding] {
        do throws(KeyRegistryError) {
            let store = try SQLiteConnectionPool(
                SQLiteStoreFile(path: path, creating: false), access: .readOnly, size: 1, busyMilliseconds: 5_000)
            try store.use { try SQLiteSchema.checkIdentity(of: $0) }
            return [.good(.schema, "version \(SQLiteSchema.version)"), checkIntegrity(store), checkRecords(store)]
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

    private static func checkRecords(_ store: SQLiteConnectionPool) -> StoreFinding {
        do throws(KeyRegistryError) {
            let keys = try countKeys(store)
            let rest = try store.use { database in
                (
                    lost: try count("receipt WHERE key_id NOT IN (SELECT key_id FROM device_key)", "receipt", database),
                    tokens: try count("development_token", "development_token", database),
                    signers: try count("signing_key WHERE secret IS NOT NULL", "signing_key", database)
                )
            }
            let text =
                "\(keys.all) keys, of which \(keys.revoked) are revoked; \(rest.signers) signing keys,"
                + " \(rest.tokens) development tokens"
            guard rest.lost == 0 else {
                return .error(.records, text + "; \(rest.lost) receipts have no key", restore)
            }
            return .good(.records, text)
        } catch {
            return .error(.records, error.cause, restore)
        }
    }

    /// Reads every record, as the gateway would.
    private static func countKeys(_ store: SQLiteConnectionPool) throws(KeyRegistryError) -> (all: Int, revoked: Int) {
        var (all, revoked, last) = (0, 0, KeyID?.none)
        while true {
            let keys = try store.use { [last] in try DeviceKeyTable.page(after: last, limit: page, from: $0) }
            guard let end = keys.last else { return (all, revoked) }
            all += keys.count
            revoked += keys.count(where: \.isRevoked)
            last = end.id
        }
    }

    /// 0 if an older store doesn't have the table yet.
    private static func count(_ rows: String, _ table: String, _ database: Database) throws -> Int {
        let isThere = try Int.fetchOne(
            database, sql: "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?", arguments: [table])
        guard isThere == 1 else { return 0 }
        return try Int.fetchOne(database, sql: "SELECT count(*) FROM \(rows)") ?? 0
    }
}
