/// Counts the attempts to come back, and says when the next one is due, or that enough was tried.
struct ReconnectAttempts: Sendable {
    private let policy: ReconnectPolicy
    private var bucket: RateBucket
    /// Since the last success, the one under way included.
    private(set) var count = 0
    private var hadSuccess = false
    /// When the first of them began.
    private var since: Double?

    init(_ policy: ReconnectPolicy) {
        self.policy = policy
        bucket = RateBucket(capacity: policy.burst, rate: policy.perSecond)
    }

    mutating func begin(at now: Double) {
        count += 1
        since = since ?? now
    }

    /// There was a session over this connection.
    mutating func succeeded() {
        (count, since) = (0, nil)
        hadSuccess = true
    }

    /// - Parameters:
    ///   - hint: what the gateway wishes.
    ///   - random: from 0 to 1.
    /// - Returns: the seconds to wait; nil: give up.
    mutating func delay(at now: Double, hint: Double?, random: Double) -> Double? {
        since = since ?? now
        let limit = hadSuccess ? policy.giveUpAfter : policy.firstConnectionWithin
        guard let since, now - since < limit else { return nil }
        let wait = max(policy.delay(attempt: count + 1, hint: hint, random: random), bucket.take(at: now))
        return min(wait, max(limit - (now - since), 0.1))
    }

    /// Why there are no more attempts.
    func givenUp(_ error: GateError?) -> ConnectionEnd {
        ConnectionEnd(.unreachable, .connectLater(seconds: policy.longestDelay), error)
    }
}
