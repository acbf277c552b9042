import BlockingWork
import Glibc
import KeyStore

/// The database file on disk, created and checked before SQLite opens it.
///
/// SQLite gives `-wal` and `-shm` the mode and owner of the database file, so mode 0600 applies to all three.
struct SQLiteStoreFile {
    /// The path for SQLite, never one of its special names (`:memory:`, `file:…`).
    let sqlitePath: String

    private let directory: String

    /// Creates the file if it doesn't exist, readable and writable only by its owner.
    ///
    /// - throws: `.unavailable`, with the cause in words that an operator can act on.
    init(path: String, creating: Bool) throws(KeyRegistryError) {
        sqlitePath = Self.anchored(path)
        directory = Self.directory(of: sqlitePath)
        try checkDirectory()
        if creating { try create() }
        try checkFile()
    }

    static func anchored(_ path: String) -> String { path.hasPrefix("/") ? path : "./" + path }

    /// With its slash.
    static func directory(of anchored: String) -> String {
        anchored.lastIndex(of: "/").map { String(anchored[...$0]) } ?? "./"
    }

    /// Makes the directory entries of new files durable; without them, a power cut would lose the files.
    func synchronizeDirectory() throws(KeyRegistryError) { try Self.synchronize(directory: directory) }

    static func synchronize(directory: String) throws(KeyRegistryError) {
        do throws(FileFault) { try DraftFile.synchronize(directory: directory) } catch {
            throw .unavailable(error.text)
        }
    }

    private func checkDirectory() throws(KeyRegistryError) {
        var status = stat()
        guard stat(directory, &status) == 0 else { throw Self.failure("the directory \(directory) can't be used") }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw .unavailable("\(directory) is not a directory") }
        guard access(directory, W_OK | X_OK) == 0 else {
            throw Self.failure("the directory \(directory) is not writable")
        }
    }

    private func create() throws(KeyRegistryError) {
        let descriptor = open(sqlitePath, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        if descriptor < 0, errno == EEXIST { return }
        guard descriptor >= 0 else { throw Self.failure("\(sqlitePath) can't be created") }
        defer { close(descriptor) }
        // The process's umask may have removed more permissions than intended.
        guard fchmod(descriptor, 0o600) == 0 else { throw Self.failure("the mode of \(sqlitePath) can't be set") }
    }

    private func checkFile() throws(KeyRegistryError) {
        var status = stat()
        guard stat(sqlitePath, &status) == 0 else { throw Self.failure("\(sqlitePath) can't be used") }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .unavailable("\(sqlitePath) is not a regular file") }
        guard status.st_mode & 0o022 == 0 else {
            throw .unavailable(
                "\(sqlitePath) may be written by others than its owner: chmod 600 it, after a look at its keys")
        }
        guard access(sqlitePath, R_OK | W_OK) == 0 else {
            throw Self.failure("\(sqlitePath) is not readable and writable")
        }
    }

    /// Adds the cause from `errno`.
    private static func failure(_ text: String) -> KeyRegistryError {
        .unavailable("\(text): \(String(cString: strerror(errno)))")
    }
}
