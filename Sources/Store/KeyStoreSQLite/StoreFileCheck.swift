import Glibc
import KeyStore

/// Checks the files of a store and their disk, without opening them.
struct StoreFileCheck {
    /// Below this a disk counts as full, in bytes.
    static let leastFreeBytes = 64 << 20
    /// A log that the gateway would have truncated long ago: twice its limit. In bytes.
    static let largestLogBytes = 2 * SQLiteKeyDatabase.Limits().walTruncationBytes

    private let path: String
    private let directory: String

    init(path: String) {
        self.path = SQLiteStoreFile.anchored(path)
        directory = SQLiteStoreFile.directory(of: self.path)
    }

    /// False if the file isn't there or is none; then nothing can be opened.
    var isFile: Bool { Self.status(path).map { $0.st_mode & S_IFMT == S_IFREG } ?? false }

    var findings: [StoreFinding] { [checkDirectory()] + checkFiles() + [checkLog(), checkDisk()] }

    private func checkDirectory() -> StoreFinding {
        guard let status = Self.status(directory) else {
            return .error(.directory, "\(directory) can't be looked at: \(Self.cause)", "Check the path.")
        }
        let mode = status.st_mode & 0o7777
        // Who may rename files in it may replace the store.
        guard mode & 0o022 == 0 || mode & S_ISVTX != 0 else {
            return .error(
                .directory, "\(directory) may be written by others than its owner (mode \(Self.octal(mode)))",
                "chmod go-w \(directory)")
        }
        guard access(directory, W_OK | X_OK) == 0 else {
            return .error(
                .directory, "\(directory) is not writable for this user: \(Self.cause)",
                "SQLite needs to create files there. Run this as the gateway's user, or give it the directory.")
        }
        return .good(.directory, "\(directory) has mode \(Self.octal(mode))")
    }

    private func checkFiles() -> [StoreFinding] {
        guard let store = Self.status(path) else {
            return [
                .error(
                    .file, "\(path) can't be looked at: \(Self.cause)",
                    "Check the path (ATTESTED_KEYS_PATH), or restore a backup.")
            ]
        }
        guard isFile else { return [.error(.file, "\(path) is not a regular file", "Check the path.")] }
        let findings = [path, path + "-wal", path + "-shm"].compactMap { checkFile($0, owner: store.st_uid) }
        return findings.isEmpty ? [.good(.file, "\(path) is for its owner only")] : findings
    }

    /// Signing keys are in it, so nobody else may read it either.
    private func checkFile(_ name: String, owner: uid_t) -> StoreFinding? {
        guard let status = Self.status(name) else { return nil }
        let mode = status.st_mode & 0o7777
        guard mode & 0o077 == 0 else {
            return .error(
                .file, "\(name) is open to others than its owner (mode \(Self.octal(mode))), and has secret keys",
                "chmod 600 \(name). If others have read it, revoke the signing keys; if they have written it, see its keys."
            )
        }
        guard status.st_uid == owner else {
            return .error(
                .file, "\(name) belongs to another user than the store", "Give it to the store's owner: chown.")
        }
        guard access(name, R_OK | W_OK) == 0 else {
            return .error(
                .file, "\(name) is not readable and writable for this user: \(Self.cause)",
                "Run this as the gateway's user.")
        }
        return nil
    }

    private func checkLog() -> StoreFinding {
        let bytes = Self.status(path + "-wal").map { Int($0.st_size) } ?? 0
        guard bytes <= Self.largestLogBytes else {
            return .warning(
                .writeAheadLog, "it has \(bytes) bytes",
                "A running gateway truncates it above \(SQLiteKeyDatabase.Limits().walTruncationBytes >> 20) MiB, unless"
                    + " another program reads the store all the time."
                    + " If it goes on growing, see the gateway's log for failed checkpoints.")
        }
        return .good(.writeAheadLog, "it has \(bytes) bytes")
    }

    private func checkDisk() -> StoreFinding {
        var status = statvfs()
        guard statvfs(directory, &status) == 0 else {
            return .error(.disk, "the free space can't be read: \(Self.cause)", "Check the path.")
        }
        let free = Int(
            clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
        let store = Self.status(path).map { Int($0.st_size) } ?? 0
        guard free >= Self.leastFreeBytes else {
            return .error(
                .disk, "\(free) bytes are free",
                "Free some: when the disk is full, no client is admitted by App Attest.")
        }
        guard free >= 2 * store else {
            return .warning(.disk, "\(free) bytes are free, and the store has \(store)", "Keep room for a copy of it.")
        }
        return .good(.disk, "\(free) bytes are free")
    }

    private static func status(_ path: String) -> stat? {
        var status = stat()
        return stat(path, &status) == 0 ? status : nil
    }

    private static func octal(_ mode: mode_t) -> String { "0" + String(mode, radix: 8) }

    private static var cause: String { String(cString: strerror(errno)) }
}
