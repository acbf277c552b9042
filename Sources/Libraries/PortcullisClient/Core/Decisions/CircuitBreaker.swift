/// Stops an operation that goes on failing: after three failures within five minutes it isn't tried until five minutes
/// have passed since the first of them, or until somebody says so.
struct CircuitBreaker: Sendable {
    static let maximumFailures = 3
    static let window = 300.0

    /// When the last failures happened, in seconds of the client's clock.
    private var failures: [Double] = []

    /// - Returns: the seconds until the next attempt; nil if it may be made now.
    func wait(at now: Double) -> Double? {
        let recent = failures.filter { now - $0 < Self.window }
        guard recent.count >= Self.maximumFailures, let first = recent.first else { return nil }
        return first + Self.window - now
    }

    mutating func failed(at now: Double) {
        failures = failures.filter { now - $0 < Self.window }.suffix(Self.maximumFailures - 1) + [now]
    }

    mutating func reset() { failures = [] }
}

/// What an app can show of an operation's circuit breaker.
public enum CircuitState: Sendable, Equatable {
    /// The operation may be tried.
    case closed
    /// It isn't tried for this many seconds. Offer the user a button that calls `tryAgain()`.
    case open(retryAfter: Double)
}
