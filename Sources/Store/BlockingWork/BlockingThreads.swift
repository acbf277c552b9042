import Synchronization

/// A few named threads for work that may wait in the kernel: for a disk, a file lock, a full pipe.
///
/// Swift's cooperative pool has one thread per core, and all timers and answers of the process share it. A blocking
/// call there delays all of them, so it runs here instead. Calls of one instance wait for each other; calls of
/// different instances never do.
///
/// There are two ways in:
/// - `run` makes one call. Its queue is bounded, and a call that has waited too long is refused.
/// - As a `TaskExecutor` it runs a whole task. Swift doesn't let an executor refuse a job, so the caller bounds the
///   number of such tasks.
///
/// A thread starts when there is work for it. The threads end when the last reference to this object is released.
package final class BlockingThreads: TaskExecutor {
    /// Calls that wait for a thread, unless the owner says otherwise.
    package static let maximumWaiting = 64

    private let queue: BlockingQueue
    private let numbers = Atomic<UInt64>(0)

    /// - Parameters:
    ///   - name: as debuggers and `top` show it; Linux keeps 15 bytes.
    ///   - maximumWaiting: calls of `run` that wait while all threads are busy.
    package init(_ name: String, count: Int = 1, maximumWaiting: Int = maximumWaiting) {
        queue = BlockingQueue(name: name, maximumThreads: max(1, count), maximumWaiting: max(0, maximumWaiting))
    }

    deinit { queue.close() }

    /// Calls and tasks that no thread has taken yet.
    package var waiting: Int { queue.count }

    /// Runs `work` on one of the threads. The calling task waits without holding a thread of the pool.
    ///
    /// Once it has begun, `work` can't be interrupted: neither the limit nor a cancellation ends it.
    ///
    /// - Parameter limit: how long the call may wait for a thread.
    package func run<Value: Sendable>(
        within limit: Duration, _ work: @escaping @Sendable () -> Value
    ) async throws(BlockingRefusal) -> Value {
        let number = numbers.add(1, ordering: .relaxed).newValue
        let latestStart = ContinuousClock.now + limit
        // All threads may be stuck when the limit is over, so none of them can be the one to notice.
        let alarm = Task { [queue] in
            try? await Task.sleep(until: latestStart, clock: .continuous)
            queue.expire(number)
        }
        defer { alarm.cancel() }
        let outcome: Result<Value, BlockingRefusal> = await withCheckedContinuation { continuation in
            let call = BlockingQueue.Item(number: number, latestStart: latestStart) { refusal in
                continuation.resume(returning: refusal.map { .failure($0) } ?? .success(work()))
            }
            if !queue.add(call) { continuation.resume(returning: .failure(.full)) }
        }
        return try outcome.get()
    }

    /// Runs `work` on one of the threads. Nobody waits for it.
    ///
    /// - Returns: false if as many calls as the limit allows wait already; nothing happens then.
    package func start(_ work: @escaping @Sendable () -> Void) -> Bool {
        queue.add(BlockingQueue.Item(number: 0, latestStart: nil) { _ in work() })
    }

    /// The same for one whose calls wait in a queue of their own, and who has one of these at a time.
    package func startAlways(_ work: @escaping @Sendable () -> Void) {
        queue.addAlways(BlockingQueue.Item(number: 0, latestStart: nil) { _ in work() })
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.addAlways(
            BlockingQueue.Item(number: 0, latestStart: nil) { [self] _ in
                job.runSynchronously(on: asUnownedTaskExecutor())
            })
    }
}

/// Why a call wasn't run. Nothing of it has happened.
package enum BlockingRefusal: Error, Hashable, Sendable {
    /// As many calls as the limit allows wait already.
    case full
    /// No thread was free in time.
    case late
}
