import BlockingWork
import Dispatch
import GRDB
import KeyStore
import Synchronization

/// Changes that clients cause one after another: those that wait at the same moment are one transaction, and wait for
/// the disk once.
///
/// A change takes its place in the queue of the thread like any other call, with the same limits. When its turn comes,
/// it is made together with those that wait behind it, whose turns then only fetch what has come of them.
final class SQLiteSharedCommits: Sendable {
    /// Changes of one transaction, so that it is short.
    static let maximumChanges = 64

    private let database: SQLiteKeyDatabase
    private let thread: BlockingThreads
    /// Each until a transaction takes it, or its call is refused.
    private let waiting = Mutex<[SharedChange]>([])
    private let numbers = Atomic<UInt64>(0)

    init(of database: SQLiteKeyDatabase, on thread: BlockingThreads) {
        (self.database, self.thread) = (database, thread)
    }

    /// - Parameter body: runs in a transaction as ``SQLiteKeyDatabase/change(until:_:)`` makes one. It may run twice: a
    ///   transaction that fails is made again without the others.
    func change<Answer: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Answer
    ) async throws(KeyRegistryError) -> Answer {
        let outcome = Outcome<Answer>()
        let change = SharedChange(
            number: numbers.add(1, ordering: .relaxed).newValue,
            run: { database in
                let answer = try body(database)
                return { outcome.set(.success(answer)) }
            }, fail: { outcome.set(.failure($0)) })
        waiting.withLock { $0.append(change) }
        do throws(KeyRegistryError) {
            try await thread.answer(database.limits) { [self] deadline throws(KeyRegistryError) in
                commit(change, until: deadline)
            }
        } catch {
            // Nothing of it has happened, unless a transaction has it.
            if withdraw(change) { throw error }
        }
        return try await outcome.value()
    }

    /// - Returns: whether no transaction has it.
    private func withdraw(_ change: SharedChange) -> Bool {
        waiting.withLock { waiting in
            guard let index = waiting.firstIndex(where: { $0.number == change.number }) else { return false }
            waiting.remove(at: index)
            return true
        }
    }

    // MARK: On the thread

    private func commit(_ change: SharedChange, until deadline: DispatchTime) {
        while true {
            let changes = waiting.withLock { waiting -> [SharedChange] in
                guard waiting.contains(where: { $0.number == change.number }) else { return [] }
                defer { waiting.removeFirst(min(waiting.count, Self.maximumChanges)) }
                return Array(waiting.prefix(Self.maximumChanges))
            }
            guard !changes.isEmpty else { return }
            make(changes, until: deadline)
        }
    }

    private func make(_ changes: [SharedChange], until deadline: DispatchTime) {
        do throws(KeyRegistryError) {
            let answers = try database.change(until: deadline) { database in try changes.map { try $0.run(database) } }
            for answer in answers { answer() }
        } catch {
            // One that fails concerns none of the others.
            guard changes.count > 1 else { return changes[0].fail(error) }
            for change in changes { make([change], until: deadline) }
        }
    }
}

private struct SharedChange: Sendable {
    let number: UInt64
    /// Returns what is to be done when the transaction is committed.
    let run: @Sendable (Database) throws -> @Sendable () -> Void
    let fail: @Sendable (KeyRegistryError) -> Void
}

/// What has come of a change: set once, and asked for once.
private final class Outcome<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Result<Value, KeyRegistryError>, Never>)
        case known(Result<Value, KeyRegistryError>)
    }

    private let state = Mutex(State.open)

    func set(_ result: Result<Value, KeyRegistryError>) {
        let waiter = state.withLock { state -> CheckedContinuation<Result<Value, KeyRegistryError>, Never>? in
            defer { state = .known(result) }
            if case .awaited(let waiter) = state { return waiter }
            return nil
        }
        waiter?.resume(returning: result)
    }

    func value() async throws(KeyRegistryError) -> Value {
        let known = state.withLock { state -> Result<Value, KeyRegistryError>? in
            if case .known(let result) = state { return result }
            return nil
        }
        if let known { return try known.get() }
        let result = await withCheckedContinuation { continuation in
            let known = state.withLock { state -> Result<Value, KeyRegistryError>? in
                if case .known(let result) = state { return result }
                state = .awaited(continuation)
                return nil
            }
            if let known { continuation.resume(returning: known) }
        }
        return try result.get()
    }
}
