import Glibc
import KeyStore

/// The next file beside a store, before it has its name.
///
/// All of it is on the disk before that, since some file systems would leave an empty file after a power cut. With the
/// name it gets the count that is committed then, which isn't brought to the disk: a power cut may leave an earlier
/// one, or the former file, which is as good. So nobody has to wait for the disk while they hold SQLite's lock.
///
/// A draft is made where nothing has its path. It is renamed or removed in a transaction of the store alone: what is
/// found at the path in a transaction is there until the transaction renames or removes it.
final class RefreshDraft {
    private let path: String
    private let descriptor: Int32
    private let history: [UInt8]

    /// - Parameters:
    ///   - history: that is committed.
    ///   - store: its owner gets the draft from root, as SQLite does with its log: who isn't root uses it later.
    /// - Returns: nil if something has the path.
    init?(_ path: String, of history: RefreshHistory, beside store: String) throws(KeyRegistryError) {
        self.path = path
        self.history = history.id
        descriptor = open(path, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0o600)
        if descriptor < 0, errno == EEXIST { return nil }
        guard descriptor >= 0 else { throw failure("can't be created") }
        // The process's umask may have removed more permissions than intended.
        guard fchmod(descriptor, 0o600) == 0 else { throw failure("has a mode that can't be set") }
        giveAway(toOwnerOf: store)
        let bytes = RefreshPlaceContent(history: history, birth: FileBirth(of: descriptor)).bytes
        guard write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0 else {
            throw failure("can't be written")
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// By the descriptor: whoever may write to the directory could put a link to another's file at the path.
    private func giveAway(toOwnerOf store: String) {
        var owner = stat()
        if geteuid() == 0, stat(store, &owner) == 0 { _ = fchown(descriptor, owner.st_uid, owner.st_gid) }
    }

    // MARK: In a transaction of the store

    /// Whether no other process has taken it for one that was left.
    var isThere: Bool {
        var (own, found) = (stat(), stat())
        return fstat(descriptor, &own) == 0 && lstat(path, &found) == 0
            && own.st_dev == found.st_dev && own.st_ino == found.st_ino
    }

    /// - Parameter history: that is committed.
    /// - Returns: false where it is of another history, or can't be renamed.
    func replace(_ target: String, with history: RefreshHistory) -> Bool {
        guard history.id == self.history else { return false }
        RefreshPlaceContent.overwrite(history.changes, in: descriptor)
        return rename(path, target) == 0
    }

    private func failure(_ problem: String) -> KeyRegistryError {
        .unavailable("\(path) \(problem): \(String(cString: strerror(errno)))")
    }
}
