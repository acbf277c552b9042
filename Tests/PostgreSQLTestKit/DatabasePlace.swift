import Synchronization

/// The right to use a database of the shared server, until it is released with its last reference.
///
/// Swift Testing runs all tests at once, and each of these has connections of its own: without a limit they exceed the
/// server's, and slow down tests that have time limits. A test takes one place at most, so none waits for another while
/// it holds one.
package final class DatabasePlace: Sendable {
    private static let maximum = 12
    private static let queue = Mutex(Queue())

    private struct Queue {
        var taken = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    package static func take() async -> DatabasePlace {
        await withCheckedContinuation { continuation in
            let isFree = queue.withLock { queue in
                guard queue.taken < maximum else {
                    queue.waiting.append(continuation)
                    return false
                }
                queue.taken += 1
                return true
            }
            if isFree { continuation.resume() }
        }
        return DatabasePlace()
    }

    private init() {}

    /// The place goes to who has waited longest.
    deinit {
        let next = Self.queue.withLock { queue -> CheckedContinuation<Void, Never>? in
            guard !queue.waiting.isEmpty else {
                queue.taken -= 1
                return nil
            }
            return queue.waiting.removeFirst()
        }
        next?.resume()
    }
}
