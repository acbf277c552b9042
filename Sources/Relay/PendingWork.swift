import BlockingWork
import Synchronization

/// Requests of one kind that are answered away from the reactors, over all of them. Each one holds its body meanwhile.
final class PendingWork: Sendable {
    /// A request that waits for the store doesn't occupy a thread.
    let threads: BlockingThreads
    private let maximum: Int
    private let count = Mutex(0)

    init(_ name: String, threads: Int, maximum: Int) {
        self.threads = BlockingThreads(name, count: threads)
        self.maximum = maximum
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

/// Registrations that are verified or stored at once.
enum PendingRegistrations {
    /// 64 bodies of 64 KiB are 4 MiB; at a few milliseconds each, about a second of work for two cores.
    static let maximum = 64
    static let retryAfterSeconds = 2
    private static let threadCount = 2

    static func make() -> PendingWork { PendingWork("registrations", threads: threadCount, maximum: maximum) }
}

/// Requests for access tokens that are verified or stored at once.
enum PendingTokens {
    /// Their bodies are 16 MiB at most; at less than a millisecond each, a fraction of a second of work.
    static let maximum = 256
    static let retryAfterSeconds = 1
    private static let threadCount = 2

    static func make() -> PendingWork { PendingWork("tokens", threads: threadCount, maximum: maximum) }
}
