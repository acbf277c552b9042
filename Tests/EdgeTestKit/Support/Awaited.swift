import Synchronization

/// State that one side changes and another awaits: these tests wait in no other way.
///
/// `update` may be called on any thread. `wait` suspends until its probe returns a value, or fails at its deadline with
/// a description of what was awaited, so that no test sleeps and none hangs.
package final class Awaited<State: Sendable>: Sendable {
    private struct Storage: Sendable {
        var state: State
        /// Incremented with every change, so that a waiter can't miss a change between its probe and its suspension.
        var version: UInt64 = 0
        var waiters: [CheckedContinuation<Void, Never>] = []

        mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
            version &+= 1
            defer { waiters = [] }
            return waiters
        }
    }

    private let storage: Mutex<Storage>

    package init(_ state: State) {
        storage = Mutex(Storage(state: state))
    }

    package var current: State {
        storage.withLock { $0.state }
    }

    @discardableResult
    package func update<Result: Sendable>(_ change: @Sendable (inout State) -> Result) -> Result {
        let (result, waiters) = storage.withLock { storage in
            let result = change(&storage.state)
            return (result, storage.takeWaiters())
        }
        for waiter in waiters { waiter.resume() }
        return result
    }

    /// Suspends until `probe` returns a value, and returns it.
    ///
    /// - Parameters:
    ///   - what: completes the sentence "waited in vain for …".
    ///   - limit: generous, because it ends a broken test and doesn't measure a working one; on a slow or busy machine
    ///     it is more so, see ``Patience``.
    ///   - probe: may consume what it finds. Runs under the lock.
    @discardableResult
    package func wait<Result: Sendable>(
        for what: String, within limit: Duration = .seconds(20),
        until probe: @Sendable (inout State) throws -> Result?
    ) async throws -> Result {
        if let found = try look(probe).found { return found }
        let limit = Patience.extended(limit)
        let deadline = ContinuousClock.now.advanced(by: limit)
        let alarm = Task {
            try await Task.sleep(until: deadline, clock: .continuous)
            wake()
        }
        defer { alarm.cancel() }
        while true {
            let (found, version) = try look(probe)
            if let found { return found }
            guard ContinuousClock.now < deadline else {
                throw EdgeTestError("waited in vain for \(what) (\(limit)); state: \(summary)")
            }
            await suspend(unlessChangedSince: version)
        }
    }

    private func look<Result: Sendable>(
        _ probe: @Sendable (inout State) throws -> Result?
    ) throws -> (found: Result?, version: UInt64) {
        try storage.withLock { (try probe(&$0.state), $0.version) }
    }

    private func suspend(unlessChangedSince version: UInt64) async {
        await withCheckedContinuation { continuation in
            let changed = storage.withLock { storage in
                if storage.version != version { return true }
                storage.waiters.append(continuation)
                return false
            }
            if changed { continuation.resume() }
        }
    }

    private func wake() {
        let waiters = storage.withLock { $0.takeWaiters() }
        for waiter in waiters { waiter.resume() }
    }

    private var summary: String {
        let text = String(describing: current)
        return text.count <= 2000 ? text : String(text.prefix(1000)) + " … " + String(text.suffix(1000))
    }
}

/// How much longer than on a quiet machine a test may wait. Nothing waits longer because of it, unless a test is
/// broken.
private enum Patience {
    private static let factor = 4
    /// Shorter waits are part of what a test is about.
    private static let shortest = Duration.seconds(10)

    static func extended(_ limit: Duration) -> Duration { limit < shortest ? limit : limit * factor }
}
