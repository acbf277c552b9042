import DequeModule
import Synchronization
package import WireText

/// The decision of a limit on one event.
package enum RateDecision: Hashable, Sendable {
    case within
    /// Seconds until the window ends.
    case over(retryAfter: Int)
}

/// Counts events by address prefix.
package typealias RateTable = RateLimiter<AddressPrefix>

/// Counts events by a key, called prefix here, and allows `limit` of them in a window. Shared by all reactors; every
/// call is one atomic step of constant cost.
///
/// A prefix' window begins with its first event. When it has ended, counting starts from zero, so no client waits
/// longer than one window. (Two adjacent windows can let twice the limit pass in a short time. That is acceptable:
/// these limits bound work, they don't meter it.) The table is bounded: when it is full, all prefixes that aren't in it
/// share one window, so a flood of addresses can neither use up memory nor evict other prefixes.
package final class RateLimiter<Key: Hashable & Sendable>: Sendable {
    /// `MAX_LIMITER_ENTRIES`.
    package static var defaultMaximumEntries: Int { 65_536 }

    private let limit: @Sendable () -> Int?
    private let state: Mutex<RateWindows<Key>>

    /// - Parameter limit: events per window; `nil` means no limit, 0 refuses everything. It is read at each event, and
    ///   a new one applies to windows that have begun, too: existing counts are kept.
    package init(
        limit: @autoclosure @escaping @Sendable () -> Int?, window: Duration,
        maximumEntries: Int = RateLimiter.defaultMaximumEntries
    ) {
        self.limit = limit
        state = Mutex(RateWindows(window: window, maximumEntries: maximumEntries))
    }

    /// Counts one event of `prefix`. Events above the limit aren't counted.
    package func count(_ prefix: Key, at time: MonotonicTime) -> RateDecision {
        let limit = limit()
        return state.withLock { $0.decide(prefix, at: time, limit: limit, counting: true) }
    }

    /// The decision that ``count(_:at:)`` would make, without counting.
    package func peek(_ prefix: Key, at time: MonotonicTime) -> RateDecision {
        let limit = limit()
        return state.withLock { $0.decide(prefix, at: time, limit: limit, counting: false) }
    }

    /// Prefixes remembered at this time; for metrics.
    package var entryCount: Int { state.withLock { $0.entryCount } }
}

/// The state of a ``RateTable``, a value under its lock.
///
/// All windows have the same length, so they end in the order in which they began: a queue in that order finds the
/// ended ones. Each call drops at most two ended windows and begins at most one, so the queue shrinks while any window
/// has ended, and is never longer than the table.
struct RateWindows<Key: Hashable & Sendable> {
    private struct Window {
        var start: MonotonicTime
        var count: Int
    }

    private static var dropsPerCall: Int { 2 }

    private let length: Duration
    private let maximumEntries: Int
    private var windows: [Key: Window] = [:]
    private var beginnings: Deque<(prefix: Key, start: MonotonicTime)> = []
    /// For prefixes that aren't in the table while it is full.
    private var shared: Window
    /// Reactors pass their own times, which aren't synchronised; windows must begin in order.
    private var latest = MonotonicTime(nanoseconds: 0)

    init(window: Duration, maximumEntries: Int) {
        length = window
        self.maximumEntries = max(maximumEntries, 0)
        shared = Window(start: latest, count: 0)
    }

    var entryCount: Int { windows.count }

    /// - Parameter limit: `nil`: everything passes, and nothing is counted.
    mutating func decide(
        _ prefix: Key, at time: MonotonicTime, limit: Int?, counting: Bool
    ) -> RateDecision {
        latest = max(latest, time)
        dropEnded()
        guard let limit else { return .within }
        let known = windows[prefix]
        let isShared = known == nil && windows.count >= maximumEntries
        var window = isShared ? shared : known ?? Window(start: latest, count: 0)
        let begins = (known == nil && !isShared) || hasEnded(window)
        if begins { window = Window(start: latest, count: 0) }
        guard window.count < limit else {
            return .over(retryAfter: latest.secondsForRetry(until: window.start.advanced(by: length)))
        }
        guard counting else { return .within }
        window.count += 1
        if isShared {
            shared = window
        } else {
            windows[prefix] = window
            if begins { beginnings.append((prefix, window.start)) }
        }
        return .within
    }

    private mutating func dropEnded() {
        for _ in 0..<Self.dropsPerCall {
            guard let oldest = beginnings.first, latest >= oldest.start.advanced(by: length) else { return }
            beginnings.removeFirst()
            // If the prefix has begun another window since, the entry of this one was already replaced.
            if windows[oldest.prefix]?.start == oldest.start { windows[oldest.prefix] = nil }
        }
    }

    private func hasEnded(_ window: Window) -> Bool { latest >= window.start.advanced(by: length) }
}
