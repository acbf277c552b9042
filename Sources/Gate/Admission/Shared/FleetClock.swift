/// The time of a fleet: its store's clock, in Unix milliseconds. A gateway doesn't ask for it at each use, but
/// estimates it from its own monotonic clock.
///
/// A value; ``FleetIdentity`` holds its lock.
package struct FleetClock: Sendable {
    /// Milliseconds by which the times of two gateways may differ. What one has just issued, another one accepts.
    package static let tolerance: Int64 = 2_000
    /// Measurements that are less certain than this tell nothing: two gateways at this limit are still within the
    /// tolerance.
    package static let maximumUncertainty: Int64 = tolerance / 2
    /// Milliseconds by which a monotonic clock may go wrong in a thousand seconds.
    private static let drift: UInt64 = 200

    /// One question to the store about its time.
    package struct Measurement: Sendable {
        let asked, answered: MonotonicTime
        let storeTime: Int64

        /// - Parameter storeTime: Unix milliseconds, at any time between the question and the answer.
        package init(asked: MonotonicTime, answered: MonotonicTime, storeTime: Int64) {
            (self.asked, self.answered, self.storeTime) = (asked, max(asked, answered), storeTime)
        }

        /// Half of the time that the question took.
        var uncertainty: Int64 { Int64(clamping: answered.milliseconds(since: asked) / 2 + 1) }
    }

    private var best: Measurement

    /// - Parameter first: used whatever its certainty is, because there is no better one.
    package init(_ first: Measurement) { best = first }

    /// Keeps the measurement that is more certain now. What is known grows old: clocks drift, and a store that fails
    /// over gets another clock.
    ///
    /// - Returns: whether the new one was kept.
    @discardableResult
    package mutating func note(_ next: Measurement) -> Bool {
        guard next.uncertainty <= Self.maximumUncertainty else { return false }
        let isContradicted = abs(Self.time(by: best, at: next.answered) - next.storeTime) > Self.tolerance
        guard isContradicted || next.uncertainty <= Self.uncertainty(of: best, at: next.answered) else { return false }
        best = next
        return true
    }

    package func time(at now: MonotonicTime) -> Int64 { Self.time(by: best, at: now) }

    private static func time(by measurement: Measurement, at now: MonotonicTime) -> Int64 {
        let middle = MonotonicTime(
            nanoseconds: measurement.asked.nanoseconds
                + (measurement.answered.nanoseconds - measurement.asked.nanoseconds) / 2)
        let since = Int64(clamping: now.milliseconds(since: middle)) - Int64(clamping: middle.milliseconds(since: now))
        let (sum, overflow) = measurement.storeTime.addingReportingOverflow(since)
        return overflow ? measurement.storeTime : max(0, sum)
    }

    private static func uncertainty(of measurement: Measurement, at now: MonotonicTime) -> Int64 {
        let age = now.milliseconds(since: measurement.answered)
        return measurement.uncertainty + Int64(clamping: age / 1_000 * drift / 1_000)
    }
}
