import BlockingWork
import Dispatch
import GRDB
import Glibc
import KeyStore
import Synchronization

/// Changes that clients cause one after another: those that wait at the same moment are one transaction, and wait for
/// the disk once.
///
/// Each waits as long as other calls. For the thread of changes one call waits for all of them; after a transaction it
/// is the turn of the others that wait for this thread.
///
/// A wait for the disk costs as much processor time as several changes. So where threads compete for the processors,
/// those that are about to bring a change go first (``Gathering``).
final class SQLiteSharedCommits: Sendable {
    /// Changes of one transaction, so that it is short.
    static let maximumChanges = 64

    private let database: SQLiteKeyDatabase
    private let thread: BlockingThreads
    private let queue = SharedChanges()
    private let giveWay: @Sendable () -> Void

    /// - Parameter giveWay: lets other threads go first that could run now, and returns at once if there are none.
    init(
        of database: SQLiteKeyDatabase, on thread: BlockingThreads,
        givingWayBy giveWay: @escaping @Sendable () -> Void = { sched_yield() }
    ) {
        (self.database, self.thread, self.giveWay) = (database, thread, giveWay)
    }

    /// Changes that no transaction has taken yet.
    var waiting: Int { queue.count }

    /// - Parameter body: runs in a transaction as ``SQLiteKeyDatabase/change(until:_:)`` makes one. It may run twice: a
    ///   transaction that fails is made again without the others.
    /// - Parameter milliseconds: how long it waits for the thread and the lock; nil: as administration.
    func change<Answer: Sendable>(
        within milliseconds: Int? = nil, _ body: @escaping @Sendable (Database) throws -> Answer
    ) async throws(KeyRegistryError) -> Answer {
        let milliseconds = milliseconds ?? database.limits.administrationBusyMilliseconds
        let result: Result<Answer, KeyRegistryError> = await withCheckedContinuation { continuation in
            let change = SharedChange(
                latestStart: .now + .milliseconds(milliseconds), deadline: .now() + .milliseconds(milliseconds),
                run: { database in
                    let answer = try body(database)
                    return { continuation.resume(returning: .success(answer)) }
                }, fail: { continuation.resume(returning: .failure($0)) })
            switch queue.add(change, upTo: max(1, database.limits.maximumWaitingRequests)) {
            case .refused: change.fail(.queueFull)
            case .waits: break
            case .starts: start()
            }
        }
        return try result.get()
    }

    private func start() { thread.startAlways { [self] in run() } }

    // MARK: On the thread

    private func run() {
        var gathering = Gathering(upTo: Self.maximumChanges)
        while gathering.goesOn(with: queue.count) { giveWay() }
        queue.refuseLate()
        make(queue.take(Self.maximumChanges))
        if queue.goesOn() { start() }
    }

    private func make(_ changes: [SharedChange]) {
        guard let first = changes.first else { return }
        do throws(KeyRegistryError) {
            let answers = try database.change(until: first.deadline) { database in
                try changes.map { try $0.run(database) }
            }
            for answer in answers { answer() }
        } catch .busy {
            // The first one has waited its time for the lock; others may have some left.
            let now = DispatchTime.now()
            first.fail(.busy)
            for change in changes.dropFirst() where change.deadline <= now { change.fail(.busy) }
            queue.putBack(changes.dropFirst().filter { $0.deadline > now })
        } catch {
            // One that fails concerns none of the others.
            guard changes.count > 1 else { return first.fail(error) }
            for change in changes { make([change]) }
        }
    }
}

/// How often a thread gives way before a transaction: again only if that has brought changes, and few times, because
/// each may take the time slices of others.
struct Gathering {
    static let maximumTurns = 2

    private let maximumChanges: Int
    private var known = 0
    private var turns = 0

    init(upTo maximumChanges: Int) { self.maximumChanges = maximumChanges }

    /// - Parameter count: of the changes that wait.
    mutating func goesOn(with count: Int) -> Bool {
        guard count > known, count < maximumChanges, turns < Self.maximumTurns else { return false }
        (known, turns) = (count, turns + 1)
        return true
    }
}

/// A change of which nothing has happened. Either `fail` or what `run` returns is called, once.
private struct SharedChange: Sendable {
    let latestStart: ContinuousClock.Instant
    /// Of the wait for the lock.
    let deadline: DispatchTime
    /// Returns what is to be done when the transaction is committed.
    let run: @Sendable (Database) throws -> @Sendable () -> Void
    let fail: @Sendable (KeyRegistryError) -> Void
}

/// The changes that wait, in their order. The thread may be stuck when one has waited its time, so a task of its own
/// refuses it then.
private final class SharedChanges: Sendable {
    enum Addition { case refused, waits, starts }

    private struct State {
        var waiting: [SharedChange] = []
        /// The thread has been asked for, or is at work.
        var isRunning = false
        var isWatched = false
    }

    private let state = Mutex(State())

    var count: Int { state.withLock { $0.waiting.count } }

    func add(_ change: SharedChange, upTo maximum: Int) -> Addition {
        let (addition, isUnwatched) = state.withLock { state -> (Addition, Bool) in
            guard state.waiting.count < maximum else { return (.refused, false) }
            state.waiting.append(change)
            defer { (state.isRunning, state.isWatched) = (true, true) }
            return (state.isRunning ? .waits : .starts, !state.isWatched)
        }
        if isUnwatched { watch(from: change.latestStart) }
        return addition
    }

    func take(_ maximum: Int) -> [SharedChange] {
        state.withLock { state in
            let changes = Array(state.waiting.prefix(maximum))
            state.waiting.removeFirst(changes.count)
            return changes
        }
    }

    /// In front of the others, in their order: nothing of them has happened.
    func putBack(_ changes: [SharedChange]) {
        guard let first = changes.first else { return }
        let isUnwatched = state.withLock { state in
            state.waiting.insert(contentsOf: changes, at: 0)
            defer { state.isWatched = true }
            return !state.isWatched
        }
        if isUnwatched { watch(from: first.latestStart) }
    }

    /// After a transaction.
    func goesOn() -> Bool {
        state.withLock { state in
            state.isRunning = !state.waiting.isEmpty
            return state.isRunning
        }
    }

    /// One task for all that wait, and for those that come meanwhile.
    private func watch(from time: ContinuousClock.Instant) {
        Task {
            var next: ContinuousClock.Instant? = time
            while let time = next {
                try? await Task.sleep(until: time, clock: .continuous)
                refuseLate()
                next = nextLook()
            }
        }
    }

    /// When the watch looks again; nil: nothing waits, and the watch is over.
    private func nextLook() -> ContinuousClock.Instant? {
        state.withLock { state in
            state.isWatched = !state.waiting.isEmpty
            return state.waiting.first?.latestStart
        }
    }

    /// Also before a transaction: the watch may be waiting for one that came later than those that were put back.
    func refuseLate() {
        let late = state.withLock { state in
            let now = ContinuousClock.now
            let late = Array(state.waiting.prefix { $0.latestStart <= now })
            state.waiting.removeFirst(late.count)
            return late
        }
        for change in late { change.fail(.busy) }
    }
}
