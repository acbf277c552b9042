import Foundation
import Synchronization

/// Simulates a disk that stalls: each caller blocks its thread until the test opens the gate.
///
/// A gate that isn't opened lets all callers pass after a while, so that a broken test ends; `isHolding` is false from
/// then on.
package final class Gate: @unchecked Sendable {
    private static let patience: TimeInterval = 300

    private let condition = NSCondition()
    // All below is guarded by `condition`.
    private var isOpen = false
    private var hasGivenUp = false
    private var arrivals = 0
    private var waiters: [(arrivals: Int, continuation: CheckedContinuation<Void, Never>)] = []

    package init() {}

    /// Whether all callers are still blocked.
    package var isHolding: Bool { condition.withLock { !isOpen && !hasGivenUp } }

    package func pass() {
        condition.withLock {
            arrivals += 1
            for waiter in waiters where waiter.arrivals <= arrivals { waiter.continuation.resume() }
            waiters.removeAll { $0.arrivals <= arrivals }
            let end = Date(timeIntervalSinceNow: Self.patience)
            while !isOpen, condition.wait(until: end) {}
            if !isOpen { hasGivenUp = true }
        }
    }

    package func open() {
        condition.withLock {
            isOpen = true
            condition.broadcast()
        }
    }

    /// Returns when this many callers are blocked.
    package func arrivals(_ count: Int) async {
        await withCheckedContinuation { continuation in
            condition.withLock {
                if arrivals >= count { continuation.resume() } else { waiters.append((count, continuation)) }
            }
        }
    }
}
