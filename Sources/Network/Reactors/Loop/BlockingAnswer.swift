import Glibc
import Synchronization

/// What one thread finds out for another, once. A reactor never waits for one.
package final class BlockingAnswer<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)
    private let semaphore = Semaphore()

    package init() {}

    package func set(_ new: Value) {
        value.withLock { $0 = new }
        semaphore.post()
    }

    package func wait() -> Value {
        semaphore.wait()
        guard let result = value.withLock({ $0 }) else { preconditionFailure("posted without a value") }
        return result
    }
}

/// - Note: `@unchecked Sendable` because `sem_t` is designed for use by several threads.
final class Semaphore: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func post() { sem_post(semaphore) }

    func wait() {
        while sem_wait(semaphore) != 0 {}
    }
}
