import Synchronization
package import WireText

/// The decision of a limit on one event.
package enum RateDecision: Hashable, Sendable {
    case within
    /// Seconds until the window ends.
    case over(retryAfter: Int)
}

/// Counts events by address prefix and allows `limit` of them in a window. Shared by all reactors; every call is one atomic step of
/// constant cost.
///
/// A prefix' window begins with its first event. When it has ended, counting starts from zero, so no client waits longer than one window.
/// (Two adjacent windows can let twice the limit pass in a short time. That is acceptable: these limits bound work, they don't meter it.)
/// The table is bounded: when it is full, all prefixes that aren't in it share one window, so a flood of addresses can neither use up
/// memory nor evict other prefixes.
package final class RateTable: Sendable {
    /// `MAX_LIMITER_ENTRIES`.
    package static let defaultMaximumEntries = 65_536

    private let state: Mutex<RateWindows>

    /// - Parameter limit: events per window; `nil` means no limit, 0 refuses everything.
    package init(limit: Int?, window: Duration, maximumEntries: Int = defaultMaximumEntries) {
        state = Mutex(RateWindows(limit: limit, window: window, maximumEntries: maximumEntries))
    }

    /// Also applies to windows that have begun: existing counts are kept.
    package func setLimit(_ limit: Int?) { state.withLock { $0.limit = limit } }

    /// Counts one event of `prefix`. Events above the limit aren't counted.
    package func count(_ prefix: AddressPrefix, at time: MonotonicTime) -> RateDecision {
        state.withLock { $0.decide(prefix, at: time, counting: true) }
    }

    /// The decision that ``count(_:at:)`` would make, without counting.
    package func peek(_ prefix: AddressPrefix, at time: MonotonicTime) -> RateDecision {
        state.withLock { $0.decide(prefix, at: time, counting: false) }
    }

    /// Prefixes remembered at this time; for metrics.
    package var entryCount: Int { state.withLock { $0.entryCount } }
}
