import BlockingWork
package import KeyStore
import Synchronization

/// This gateway's window of counters in the store of its fleet. When another gateway has gone, what is recorded may be
/// wider than the windows of those that are left: each of them records its own then. Safe from any thread.
///
/// A gateway that another one has seen in no heartbeat isn't missed, and one that has died is missed as late as it
/// counts as dead. A gateway that starts before that is taken for the same one, started again.
package final class FleetCounterWindow: CounterWindowStore {
    private static let threads = BlockingThreads("counter-window")

    private let store: any SharedCounterWindowStore
    /// Locked during each statement: none with a former window comes behind one with the next. Nil before the first.
    private let own = Mutex<CounterWindow?>(nil)
    private let state = Mutex(State())

    private struct State {
        /// At the last heartbeat; nil: there was none.
        var alive: Set<String>?
        var mayBeWider = true

        mutating func hear(_ alive: Set<String>) {
            if self.alive?.isSubset(of: alive) == false { mayBeWider = true }
            self.alive = alive
        }

        mutating func takeDue() -> Bool {
            defer { mayBeWider = false }
            return mayBeWider
        }
    }

    init(_ store: any SharedCounterWindowStore) { self.store = store }

    package func putInForce(_ window: CounterWindow, after former: CounterWindow?) throws(KeyRegistryError) {
        try own.withLock { own throws(KeyRegistryError) in
            do throws(KeyRegistryError) {
                try store.putInForce(window, after: former)
            } catch {
                // Only the answer may have been lost.
                noteWider()
                throw error
            }
            own = window
        }
    }

    /// After each heartbeat of a gateway that serves. The statement runs elsewhere; the next heartbeat makes up for a
    /// failure.
    func hear(_ found: GatewayMembers) {
        let alive = Set(found.alive(at: found.readAt).map(\.id))
        let isDue = state.withLock { state in
            state.hear(alive)
            return state.takeDue()
        }
        if isDue, !Self.threads.start({ self.narrow() }) { noteWider() }
    }

    private func narrow() {
        do throws(KeyRegistryError) {
            try own.withLock { own throws(KeyRegistryError) in
                if let own { try store.narrow(to: own) }
            }
        } catch {
            noteWider()
        }
    }

    private func noteWider() { state.withLock { $0.mayBeWider = true } }
}
