/// The budget for inflating a target's compressed bytes: one account for the ratio, one for the rate. Both outlast a stream, so a
/// target gains nothing by starting a new one.
struct InflationBudget {
    private let limits: DecompressionLimits
    private var ratioCredit: Int
    private var rateCredit: Int
    private var lastTime: UInt64?

    /// Higher limits make no difference; the cap keeps the sums below far from an overflow.
    private static let highestLimit = 1 << 40

    init(limits: DecompressionLimits) {
        func bounded(_ limit: Int) -> Int { min(max(limit, 0), Self.highestLimit) }
        var limits = limits
        limits.ratio = min(max(limits.ratio, 0), 1_000_000)
        limits.allowance = bounded(limits.allowance)
        limits.bytesPerSecond = bounded(limits.bytesPerSecond)
        limits.burst = bounded(limits.burst)
        self.limits = limits
        ratioCredit = limits.allowance
        rateCredit = limits.burst
    }

    /// - Parameter now: nanoseconds of any epoch. A step back counts as no time.
    mutating func spend(compressed: Int, inflated: Int, now: UInt64) throws(TelnetFailure) {
        ratioCredit += compressed * limits.ratio - inflated
        guard ratioCredit >= 0 else { throw .compressionRatio }
        ratioCredit = min(ratioCredit, limits.allowance)

        // An hour fills any account; the cap keeps the product small.
        let elapsed = min(now - min(lastTime ?? now, now), 3_600_000_000_000)
        lastTime = max(lastTime ?? now, now)
        rateCredit = min(limits.burst, rateCredit + Int(Double(elapsed) / 1e9 * Double(limits.bytesPerSecond)))
        rateCredit -= inflated
        guard rateCredit >= 0 else { throw .compressionRate }
    }
}
