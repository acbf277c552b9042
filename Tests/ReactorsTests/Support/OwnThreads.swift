import Synchronization
import Testing

@testable import Reactors

/// Runs a suite's tests, and the tasks that they begin, on threads of their own instead of Swift's pool.
///
/// The pool has as many threads as the machine has cores, and everything else that this process tests waits in line for them. These tests
/// are one end of a conversation whose other end, the reactor, has its time limits; and they use blocking calls, which must hold up nobody.
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

/// As many threads as there are jobs at a time: none ever waits for another one to end. A thread that has nothing to do is kept for later.
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
