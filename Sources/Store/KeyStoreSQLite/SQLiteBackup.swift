import BlockingWork
import GRDB
import Glibc
package import KeyStore

/// A copy of a store in one file, made while other processes may be writing to the store.
///
/// `VACUUM INTO` reads one snapshot: in the write-ahead log it neither waits for a writer nor delays one. It copies
/// what the store contains, and nothing that was deleted; tickets and refresh tokens are left out. The copy is made
/// under a name of its own, checked, brought to the disk and then renamed, so that a file of the final name is always a
/// whole store. Signing keys are in it: only its owner may read it.
package struct SQLiteBackup: Sendable {
    /// How long it waits for a lock, in milliseconds. In WAL mode there is none to wait for.
    private static let busyMilliseconds = 5_000

    package let path: String
    package let bytes: Int
    package let keys: Int

    /// Runs on the caller's thread and waits for the disk.
    ///
    /// - Parameter replacing: whether an existing file of this name is replaced.
    package init(of store: String, to path: String, replacing: Bool) throws(SQLiteBackupError) {
        let source = try backupErrors(.store) { () throws(KeyRegistryError) in
            try SQLiteStoreFile(path: store, creating: false)
        }
        let target = SQLiteStoreFile.anchored(path)
        try Self.check(target, isNot: source.sqlitePath, replacing: replacing)
        let draft = try Draft(beside: target)
        defer { draft.remove() }
        try backupErrors(.copy) { () throws(KeyRegistryError) in try Self.copy(source, to: draft.path) }
        try backupErrors(.copy) { () throws(KeyRegistryError) in try Self.removeUsable(from: draft.path) }
        (bytes, keys) = try backupErrors(.copy) { () throws(KeyRegistryError) in try Self.verify(draft.path) }
        try draft.publish(as: target, replacing: replacing)
        self.path = path
    }

    private static func copy(_ source: SQLiteStoreFile, to path: String) throws(KeyRegistryError) {
        try SQLiteConnectionPool(source, access: .readOnly, size: 1, busyMilliseconds: busyMilliseconds).use {
            try SQLiteSchema.checkIdentity(of: $0)
            try $0.execute(sql: "VACUUM INTO ?", arguments: [path])
        }
    }

    /// Tickets and refresh tokens: their one use would be possible again where the copy is restored.
    private static func removeUsable(from path: String) throws(KeyRegistryError) {
        let file = try SQLiteStoreFile(path: path, creating: false)
        try SQLiteConnectionPool(file, access: .durable, size: 1, busyMilliseconds: busyMilliseconds).use {
            if try SQLiteSchemaForm.has("kept_ticket", $0) { try KeptTicketTable.removeAll(in: $0) }
            if try SQLiteSchemaForm.has("refresh_home", $0) { try RefreshTable.beginAnew(in: $0) }
        }
    }

    private static func verify(_ path: String) throws(KeyRegistryError) -> (bytes: Int, keys: Int) {
        let file = try SQLiteStoreFile(path: path, creating: false)
        return try SQLiteConnectionPool(file, access: .readOnly, size: 1, busyMilliseconds: busyMilliseconds).use {
            try SQLiteSchema.checkIdentity(of: $0)
            let faults = try String.fetchAll($0, sql: "PRAGMA integrity_check")
            guard faults == ["ok"] else {
                throw KeyRegistryError.unavailable("the copy is damaged: \(faults.first ?? "no answer")")
            }
            let keys = try Int.fetchOne($0, sql: "SELECT count(*) FROM device_key") ?? 0
            let pages = try Int.fetchOne($0, sql: "PRAGMA page_count") ?? 0
            return (pages * (try Int.fetchOne($0, sql: "PRAGMA page_size") ?? 0), keys)
        }
    }

    private static func check(_ target: String, isNot store: String, replacing: Bool) throws(SQLiteBackupError) {
        var found = stat()
        guard lstat(target, &found) == 0 else { return }
        for name in [store, store + "-wal", store + "-shm"] {
            var own = stat()
            if stat(name, &own) == 0, own.st_dev == found.st_dev, own.st_ino == found.st_ino { throw .isTheStore }
        }
        guard replacing else { throw .exists }
        guard found.st_mode & S_IFMT == S_IFREG else { throw .copy(.unavailable("\(target) is not a regular file")) }
    }
}

package enum SQLiteBackupError: Error, Hashable, Sendable {
    /// The store can't be read.
    case store(KeyRegistryError)
    /// The copy can't be written, or is damaged. No file has been left.
    case copy(KeyRegistryError)
    /// A file of this name exists.
    case exists
    /// The name is that of the store, or of a file that belongs to it.
    case isTheStore
}

/// The copy before it has its name.
private struct Draft {
    private let file: DraftFile

    init(beside target: String) throws(SQLiteBackupError) {
        try Self.checkDirectory(of: target)
        let path = "\(target).part-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        file = try fileErrors { () throws(FileFault) in try DraftFile(path) }
    }

    var path: String { file.path }

    /// Who may rename files there could put one of their own in the draft's place, and read what is written into it.
    private static func checkDirectory(of target: String) throws(SQLiteBackupError) {
        let directory = SQLiteStoreFile.directory(of: target)
        var status = stat()
        guard stat(directory, &status) == 0 else {
            throw .copy(.unavailable("\(directory) can't be looked at: \(String(cString: strerror(errno)))"))
        }
        let isShared = status.st_mode & 0o022 != 0 && status.st_mode & S_ISVTX == 0
        guard !isShared, [0, geteuid()].contains(status.st_uid) else {
            throw .copy(
                .unavailable("\(directory) may be written by other users, who could read the copy: use another"))
        }
    }

    func publish(as target: String, replacing: Bool) throws(SQLiteBackupError) {
        try fileErrors { () throws(FileFault) in
            try file.publish(as: target, in: SQLiteStoreFile.directory(of: target), replacing: replacing)
        }
    }

    func remove() {
        file.remove()
        unlink(path + "-journal")
    }
}

private func fileErrors<Result>(_ body: () throws(FileFault) -> Result) throws(SQLiteBackupError) -> Result {
    do throws(FileFault) { return try body() } catch {
        switch error {
        case .exists: throw .exists
        case .failed(let text): throw .copy(.unavailable(text))
        }
    }
}

private enum BackupSide { case store, copy }

private func backupErrors<Result>(
    _ side: BackupSide, _ body: () throws(KeyRegistryError) -> Result
) throws(SQLiteBackupError) -> Result {
    do throws(KeyRegistryError) {
        return try body()
    } catch {
        throw side == .store ? .store(error) : .copy(error)
    }
}
