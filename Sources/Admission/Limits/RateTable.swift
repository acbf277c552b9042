import Synchronization

/// What a limit says to one event.
package enum RateDecision: Hashable, Sendable {
    case within
    /// Seconds until the window ends.
    case over(retryAfter: Int)
}

/// Counts events by address prefix and allows `limit` of them in a window. Shared by all reactors; every call is one atomic step of
/// constant cost.
///
/// A prefix' window begins with its first event and counts from zero when it has ended, so 601 requests in any first minute are one too
/// many, and nobody waits longer than one window. (Two windows that touch can let twice the limit pass in a short time. That is fine
/// for what these limits are for: to bound work, not to meter it.) The table is bounded: when it is full, prefixes that aren't in it
/// count together in one shared window, so that a flood of addresses can neither take memory nor push anybody out.
package final class RateTable: Sendable {
    /// `MAX_LIMITER_ENTRIES`.
    package static let defaultMaximumEntries = 65_536

    private let state: Mutex<RateWindows>

    /// - Parameter limit: of each window; `nil` is no limit, 0 lets nothing pass.
    package init(limit: Int?, window: Duration, maximumEntries: Int = defaultMaximumEntries) {
        state = Mutex(RateWindows(limit: limit, window: window, maximumEntries: maximumEntries))
    }

    /// Holds for windows that have begun, too: what was counted stays counted.
    package func setLimit(_ limit: Int?) { state.withLock { $0.limit = limit } }

    /// Counts one event of `prefix`. One that is over the limit isn't counted.
    package func count(_ prefix: AddressPrefix, at time: MonotonicTime) -> RateDecision {
        state.withLock { $0.decide(prefix, at: time, counting: true) }
    }

    /// What ``count(_:at:)`` would say, without counting.
    package func peek(_ prefix: AddressPrefix, at time: MonotonicTime) -> RateDecision {
        state.withLock { $0.decide(prefix, at: time, counting: false) }
    }

    /// Prefixes remembered at this time; for metrics.
    package var entryCount: Int { state.withLock { $0.entryCount } }
}
