/// A token bucket that holds one second's worth, in the form of a leaky meter (the generic cell rate algorithm of ITU-T I.371): what is
/// owed is a time.
struct RateBucket: Sendable {
    static let depth: UInt64 = 1_000_000_000

    /// 0: no limit.
    var perSecond: Int
    /// When all that was spent will be paid for.
    private var paidAt: UInt64 = 0

    init(perSecond: Int) {
        self.perSecond = perSecond
    }

    mutating func spend(_ count: Int, now: UInt64) {
        paidAt = max(paidAt, now) + price(count)
    }

    /// Owes from here on what `other` owes, too.
    mutating func add(_ other: RateBucket, now: UInt64) {
        let more = other.owed(now)
        if more > 0 { paidAt = max(paidAt, now) + more }
    }

    /// In nanoseconds; a bucket's depth: it is empty.
    private func owed(_ now: UInt64) -> UInt64 {
        paidAt > now ? paidAt - now : 0
    }

    /// When no more than `allowed` nanoseconds are owed; nil: now.
    func time(untilOwed allowed: UInt64, now: UInt64) -> UInt64? {
        owed(now) <= allowed ? nil : paidAt - allowed
    }

    func price(_ count: Int) -> UInt64 {
        perSecond == 0 ? 0 : UInt64(count) * Self.depth / UInt64(perSecond)
    }
}
