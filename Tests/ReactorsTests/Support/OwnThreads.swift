import Synchronization
import Testing

@testable import Reactors

/// Runs a suite's tests and their tasks on separate threads instead of Swift's pool.
///
/// The pool has one thread per core, and all other tests of this process queue for them. These tests talk to a reactor
/// that has time limits, and they use blocking calls, which must not delay other tests.
struct OwnThreads: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(ThreadExecutor.shared) { try await function() }
    }
}

extension Trait where Self == OwnThreads {
    static var ownThreads: OwnThreads { OwnThreads() }
}

/// Has as many threads as concurrent jobs, so no job waits for another to end. Idle threads are reused.
private final class ThreadExecutor: TaskExecutor {
    static let shared = ThreadExecutor()

    private final class Worker: Sendable {
        private let job = Mutex<UnownedJob?>(nil)
        private let ready = Semaphore()

        func give(_ new: UnownedJob) {
            job.withLock { $0 = new }
            ready.post()
        }

        func take() -> UnownedJob? {
            ready.wait()
            return job.withLock { job in
                defer { job = nil }
                return job
            }
        }
    }

    private let idle = Mutex<[Worker]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if let worker = idle.withLock({ $0.popLast() }) { return worker.give(job) }
        let worker = Worker()
        worker.give(job)
        startThread { [self] in
            while let job = worker.take() {
                job.runSynchronously(on: asUnownedTaskExecutor())
                idle.withLock { $0.append(worker) }
            }
        }
    }
}
