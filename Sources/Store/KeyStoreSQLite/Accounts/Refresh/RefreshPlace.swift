import Glibc
import KeyStore
import Synchronization

/// Tells whether the file of a store is an older copy of itself: tokens that were used since would be good again.
///
/// Beside the file of the store, a small one (`-refresh`) has the history of the families and how often one of them was
/// used or ended in it. It is written after each commit, so the store is never behind it, unless an older copy has
/// taken its place; without the small file, the store is a copy at another place. In both cases all families end when
/// the store is opened.
///
/// It isn't brought to the disk, which would cost a second wait: after a power cut it may be behind by what the kernel
/// hadn't written yet. A copy of both files together, such as a snapshot of the disk, isn't told apart.
final class RefreshPlace: Sendable {
    private static let bytes = RefreshHistory.length + MemoryLayout<Int64>.size

    private let path: String
    private let written = Mutex<RefreshHistory?>(nil)
    /// The history whose file is on the disk.
    private let begun = Mutex<[UInt8]?>(nil)

    /// Beside the file itself, as SQLite has its log: whoever opens the store by a link finds the same one.
    init(of store: String) {
        let anchored = SQLiteStoreFile.anchored(store)
        guard let resolved = realpath(anchored, nil) else {
            path = anchored + "-refresh"
            return
        }
        path = String(cString: resolved) + "-refresh"
        free(resolved)
    }

    /// As the last commit has left it; nil: there is no such file, or it holds something else.
    func read() throws(KeyRegistryError) -> RefreshHistory? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        if descriptor < 0, errno == ENOENT { return nil }
        guard descriptor >= 0 else { throw failure("can't be read") }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: Self.bytes)
        guard pread(descriptor, &bytes, Self.bytes, 0) == Self.bytes else { return nil }
        let changes = bytes[RefreshHistory.length...].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return RefreshHistory(id: Array(bytes.prefix(RefreshHistory.length)), changes: Int64(bitPattern: changes))
    }

    /// Whether the families of a store are those that were used last.
    static func accepts(_ stored: RefreshHistory, after known: RefreshHistory?) -> Bool {
        guard let known else { return false }
        return known.id == stored.id && known.changes <= stored.changes
    }

    /// Before the first family of a history is committed: its file is on the disk then.
    func begin(_ history: RefreshHistory) throws(KeyRegistryError) {
        guard begun.withLock({ $0 != history.id }) else { return }
        if try read()?.id != history.id {
            try write(history, synchronizing: true)
            try SQLiteStoreFile.synchronize(directory: SQLiteStoreFile.directory(of: path))
        }
        begun.withLock { $0 = history.id }
    }

    /// After a commit. The store is ahead of the file where it can't be written, which loses nothing but the notice of
    /// an older copy.
    func note(_ history: RefreshHistory) {
        let isNewer = written.withLock { written in
            guard written?.id != history.id || history.changes > (written?.changes ?? 0) else { return false }
            written = history
            return true
        }
        if isNewer { try? write(history, synchronizing: false) }
    }

    /// Of a history that has ended.
    func remove() {
        written.withLock { $0 = nil }
        begun.withLock { $0 = nil }
        unlink(path)
    }

    private func write(_ history: RefreshHistory, synchronizing: Bool) throws(KeyRegistryError) {
        let descriptor = open(path, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("can't be written") }
        defer { close(descriptor) }
        let changes = (0..<MemoryLayout<Int64>.size).map { UInt8(truncatingIfNeeded: history.changes >> (56 - 8 * $0)) }
        let bytes = history.id + changes
        guard bytes.count == Self.bytes, pwrite(descriptor, bytes, bytes.count, 0) == bytes.count else {
            throw failure("can't be written")
        }
        if synchronizing, fsync(descriptor) != 0 { throw failure("can't be synchronized") }
    }

    private func failure(_ problem: String) -> KeyRegistryError {
        .unavailable("\(path) \(problem): \(String(cString: strerror(errno)))")
    }
}
