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
/// the kernel hadn't written yet. Not told apart are:
/// - a snapshot of the whole disk, and a copy that keeps birth times, or lies where files have none;
/// - a copy, of any age, that is written over both files after a gateway was killed, and lacks only changes that came
///   after the file was last made anew: of its last ten seconds, as a rule.
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
        if try read()?.id != history.id { try make(RefreshHistory(id: history.id, changes: 0)) }
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

    /// Transactions alone make and rename this draft: one that is there was left by a process that was killed.
    private func make(_ history: RefreshHistory) throws(KeyRegistryError) {
        let first = path + ".first"
        unlink(first)
        defer { unlink(first) }
        guard let draft = try RefreshDraft(first, of: history, beside: store), draft.replace(path, with: history) else {
            throw failure("can't be made")
        }
        try SQLiteStoreFile.synchronize(directory: SQLiteStoreFile.directory(of: path))
    }

    // MARK: Making it anew

    var isMadeAnew: Bool { maximumAge != nil }

    /// Whether it is made anew when the store is left.
    var isRenewed: Bool { isMadeAnew && state.withLock { $0.madeAt != nil } }

    /// Once for each age, also where nothing comes of it: the disk may be full for long.
    func isDue() -> Bool {
        guard let maximumAge else { return false }
        return state.withLock { state in
            guard let madeAt = state.madeAt, madeAt.duration(to: .now) > maximumAge else { return false }
            state.madeAt = .now
            return true
        }
    }

    /// Before the transaction that makes it anew.
    ///
    /// - Parameter history: that is committed.
    /// - Returns: nil if it can't be made, or there is one: of a process that was killed, or is about to use it.
    func draft(of history: RefreshHistory) -> RefreshDraft? {
        try? RefreshDraft(draftPath, of: history, beside: store)
    }

    /// In a transaction. What isn't this history's file is left as it is; a missing one was removed by mistake.
    ///
    /// - Parameters:
    ///   - history: that is committed.
    ///   - draft: nil: what has its path is removed, so that the next one can be made.
    func renew(_ history: RefreshHistory, by draft: RefreshDraft?) {
        state.withLock { $0.madeAt = .now }
        if let draft, !draft.isThere { return }
        let isMissing = access(path, F_OK) != 0 && errno == ENOENT
        guard let draft, isMissing || (try? read())?.id == history.id, draft.replace(path, with: history) else {
            unlink(draftPath)
            return
        }
        if isMissing { try? SQLiteStoreFile.synchronize(directory: SQLiteStoreFile.directory(of: path)) }
    }

    private var draftPath: String { path + ".part" }

    private func failure(_ problem: String) -> KeyRegistryError {
        .unavailable("\(path) \(problem): \(String(cString: strerror(errno)))")
    }
}
