import BlockingWork
import Synchronization

/// Counts the requests of one kind that are processed outside the reactors, for all reactors. Each holds its body
/// meanwhile.
final class PendingWork: Sendable {
    /// A request that waits for the store doesn't occupy a thread.
    let threads: BlockingThreads
    private let maximum: Int
    private let count = Mutex(0)

    init(on threads: BlockingThreads, maximum: Int) {
        self.threads = threads
        self.maximum = maximum
    }

    convenience init(_ name: String, threads: Int, maximum: Int) {
        self.init(on: BlockingThreads(name, count: threads), maximum: maximum)
    }

    var current: Int { count.withLock { $0 } }

    /// - Returns: false if there are too many; otherwise call ``end()`` later.
    func begin() -> Bool {
        count.withLock { count in
            guard count < maximum else { return false }
            count += 1
            return true
        }
    }

    func end() {
        count.withLock { $0 -= 1 }
    }
}
