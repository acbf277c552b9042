/// How long to wait before the next attempt: twice as long each time, with jitter, and never shorter than the server
/// wishes.
struct Backoff: Sendable {
    /// `Retry-After` beyond this isn't believed.
    static let longestRetryAfter = 3_600.0

    let first: Double
    let longest: Double

    static let requests = Backoff(first: 1, longest: 60)

    /// - Parameters:
    ///   - attempt: failed attempts so far, from 1.
    ///   - retryAfter: what the server wishes.
    ///   - random: from 0 to 1. Clients that failed together don't come back together.
    func delay(attempt: Int, retryAfter: Double?, random: Double) -> Double {
        let doubled = first * Double(1 << min(max(attempt - 1, 0), 16))
        let own = min(doubled, longest) * (0.5 + random / 2)
        return max(own, min(retryAfter ?? 0, Self.longestRetryAfter))
    }
}

/// Permits bursts, and a steady rate after them: so that a server that ends each connection at once can't make a client
/// busy.
struct RateBucket: Sendable {
    let capacity: Double
    /// Permits that come back in a second.
    let rate: Double
    private var level: Double
    private var time: Double?

    init(capacity: Double, rate: Double) {
        (self.capacity, self.rate, level) = (capacity, rate, capacity)
    }

    /// Takes one permit.
    ///
    /// - Returns: the seconds until it may be used.
    mutating func take(at now: Double) -> Double {
        if let time { level = min(capacity, level + max(0, now - time) * rate) }
        time = now
        level -= 1
        return level >= 0 ? 0 : -level / rate
    }
}
