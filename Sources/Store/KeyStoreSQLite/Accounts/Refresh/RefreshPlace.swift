import BlockingWork
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
/// A copy of both files is told by the birth time that the small one says of itself (``FileBirth``). A copy that is
/// written over the file that is there has its birth time, so a gateway makes the file anew when it opens and leaves
/// the store, and now and then in between.
///
/// Other processes may write to the store at the same time. A file is made or removed in a transaction of the store
/// alone: one at a time, and of the history that the store has. A note is written in place, in a file of its history
/// alone; one that is lost leaves the file behind the store, which loses nothing but the notice of an older copy.
///
/// Notes aren't brought to the disk, which would cost a second wait: after a power cut the file may be behind by what
/// the kernel hadn't written yet. Not told apart are a snapshot of the whole disk, and a copy of the last seconds
/// before a gateway was killed, written over both files.
final class RefreshPlace: Sendable {
    private struct State {
        var written: RefreshHistory?
        /// The history whose file is on the disk.
        var begun: [UInt8]?
        /// Nil: this process knows of no file.
        var madeAt: ContinuousClock.Instant?
    }

    private let path: String
    private let store: String
    /// Of a file that a note still goes to; nil: this process makes none anew.
    private let maximumAge: Duration?
    private let state = Mutex(State())

    /// Beside the file itself, as SQLite has its log: whoever opens the store by a link finds the same one.
    init(of store: String, maximumAge: Duration?) {
        self.maximumAge = maximumAge
        let resolved = realpath(SQLiteStoreFile.anchored(store), nil)
        defer { free(resolved) }
        self.store = resolved.map { String(cString: $0) } ?? SQLiteStoreFile.anchored(store)
        path = self.store + "-refresh"
    }

    /// As the last commit has left it; nil: there is no such file, it is a copy, or it holds something else.
    func read() throws(KeyRegistryError) -> RefreshHistory? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        if descriptor < 0, errno == ENOENT { return nil }
        guard descriptor >= 0 else { throw failure("can't be read") }
        defer { close(descriptor) }
        guard let content = RefreshPlaceContent(of: descriptor),
            !FileBirth.isOfCopy(saying: content.birth, having: FileBirth(of: descriptor))
        else { return nil }
        return content.history
    }

    /// Whether the families of a store are those that were used last.
    static func accepts(_ stored: RefreshHistory, after known: RefreshHistory?) -> Bool {
        guard let known else { return false }
        return known.id == stored.id && known.changes <= stored.changes
    }

    /// Before the first family of a history is committed, in its transaction: the history's file is on the disk then.
    /// It has no count, since the transaction may have counted what is never committed.
    func begin(_ history: RefreshHistory) throws(KeyRegistryError) {
        guard state.withLock({ $0.begun != history.id }) else { return }
        if try read()?.id != history.id { try makeLasting(RefreshHistory(id: history.id, changes: 0)) }
        state.withLock { ($0.begun, $0.madeAt) = (history.id, .now) }
    }

    /// After a commit.
    func note(_ history: RefreshHistory) {
        let isNewer = state.withLock { state in
            guard state.written?.id != history.id || history.changes > (state.written?.changes ?? 0) else {
                return false
            }
            state.written = history
            // Where the lock was taken when the store was opened.
            state.madeAt = state.madeAt ?? .now
            return true
        }
        if isNewer { overwrite(history) }
    }

    /// In the transaction that ends a history, before it is committed.
    func remove() {
        state.withLock { $0 = State() }
        unlink(path)
    }

    /// Another inode: a copy of another history's file, or one that has been replaced meanwhile, isn't touched.
    private func overwrite(_ history: RefreshHistory) {
        let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard RefreshPlaceContent(of: descriptor)?.history.id == history.id else { return }
        RefreshPlaceContent.overwrite(history.changes, in: descriptor)
    }

    // MARK: Making it anew

    /// In a transaction of the store.
    ///
    /// - Parameter history: that is committed.
    func renewIfOld(_ history: RefreshHistory) {
        guard let maximumAge else { return }
        let isOld = state.withLock { $0.madeAt.map { $0.duration(to: .now) > maximumAge } ?? false }
        if isOld { renew(history) }
    }

    /// Whether ``renew(_:)`` has anything to do when the store is left.
    var isRenewed: Bool { maximumAge != nil && state.withLock { $0.madeAt != nil } }

    /// The same at once. What isn't this history's file is left as it is; a missing one was removed by mistake.
    func renew(_ history: RefreshHistory) {
        guard maximumAge != nil else { return }
        // Also where it fails: the disk may be full for long.
        state.withLock { $0.madeAt = .now }
        if access(path, F_OK) != 0, errno == ENOENT {
            try? makeLasting(history)
        } else if let known = try? read(), known.id == history.id {
            try? make(history)
        }
    }

    private func makeLasting(_ history: RefreshHistory) throws(KeyRegistryError) {
        try make(history)
        try SQLiteStoreFile.synchronize(directory: SQLiteStoreFile.directory(of: path))
    }

    /// All of it is on the disk before it has its name, since some file systems would leave an empty file after a power
    /// cut. If the name isn't, it is the former file's, which is as good.
    private func make(_ history: RefreshHistory) throws(KeyRegistryError) {
        // Left by a process that was killed: there is one transaction at a time.
        unlink(path + ".part")
        do throws(FileFault) {
            let draft = try DraftFile(path + ".part")
            do throws(FileFault) {
                try fill(draft, with: history)
                try draft.replace(path)
            } catch {
                draft.remove()
                throw error
            }
        } catch {
            throw .unavailable(error.text)
        }
    }

    private func fill(_ draft: DraftFile, with history: RefreshHistory) throws(FileFault) {
        let descriptor = open(draft.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        let birth = FileBirth(of: descriptor)
        close(descriptor)
        try draft.write(RefreshPlaceContent(history: history, birth: birth).bytes)
        // As SQLite does with its log: who isn't root uses the store later.
        var owner = stat()
        if geteuid() == 0, stat(store, &owner) == 0 { _ = chown(draft.path, owner.st_uid, owner.st_gid) }
    }

    private func failure(_ problem: String) -> KeyRegistryError {
        .unavailable("\(path) \(problem): \(String(cString: strerror(errno)))")
    }
}
