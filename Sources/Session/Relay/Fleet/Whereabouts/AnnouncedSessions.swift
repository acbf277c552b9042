import Admission
import KeyStore

/// Which of a gateway's sessions are announced to the fleet, which wait for it, and who wants to know.
struct AnnouncedSessions {
    private var pending = PendingSessions()
    private var waiting: [SessionMark: @Sendable () -> Void] = [:]
    /// When the batch under way was taken, and the one before it if nothing was between them: what waits is younger
    /// than that.
    private var taken: (before: MonotonicTime, last: MonotonicTime)?
    private var mayWrite = false
    private var isWriting = false
    private var isOver = false
    private var hasFailed = false
    /// The incarnation in which everything is to be announced, and in which everything is.
    private var aim: StoreIncarnation?
    private var reached: StoreIncarnation?

    var count: Int { pending.count }

    /// The store has all changes.
    var isSettled: Bool { !isWriting && pending.count == 0 }

    mutating func began(_ mark: SessionMark, _ whenFound: (@Sendable () -> Void)?) {
        guard !isOver else { return }
        pending.began(mark)
        if let whenFound { waiting[mark] = whenFound }
    }

    mutating func ended(_ mark: SessionMark) {
        waiting[mark] = nil
        if !isOver { pending.ended(mark) }
    }

    mutating func stop() {
        isOver = true
        pending = PendingSessions()
        waiting = [:]
    }

    mutating func beginAgain() { pending.beginAgain() }

    mutating func complete(in incarnation: StoreIncarnation?) {
        (mayWrite, aim, reached) = (true, incarnation, nil)
        noteIfDone()
    }

    /// What was left out is announced by the next complete announcement.
    private mutating func noteIfDone() {
        if isSettled, pending.leftOut == 0 { reached = aim }
    }

    /// Another process announces the sessions if this is over.
    func isComplete(in incarnation: StoreIncarnation, at time: MonotonicTime) -> Bool {
        guard !isOver else { return true }
        guard let reached, reached == incarnation, !hasFailed, pending.leftOut == 0 else { return false }
        let overdue = taken.map { time > $0.before.advanced(by: .milliseconds(SessionTrace.overdueAfter)) } ?? false
        return !overdue
    }

    mutating func takeBatch(at time: MonotonicTime) -> SessionChanges? {
        guard mayWrite, !isWriting else { return nil }
        guard let batch = pending.takeBatch() else {
            taken = nil
            return nil
        }
        isWriting = true
        taken = (taken?.last ?? time, time)
        return batch
    }

    /// - Returns: whom to tell that other gateways find their sessions, and whether writes have failed before.
    mutating func written(_ batch: SessionChanges) -> (found: [@Sendable () -> Void], recovers: Bool) {
        let recovers = hasFailed
        (isWriting, hasFailed) = (false, false)
        noteIfDone()
        return (batch.began.compactMap { waiting.removeValue(forKey: $0) }, recovers)
    }

    /// - Returns: whether this is the first failure.
    mutating func failed(_ batch: SessionChanges) -> Bool {
        let isFirst = !hasFailed
        hasFailed = true
        if !isOver { pending.giveBack(batch) }
        return isFirst
    }

    mutating func tryAgain() { isWriting = false }
}
