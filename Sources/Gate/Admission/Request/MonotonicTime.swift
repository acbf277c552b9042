/// A point on the machine's monotonic clock, in nanoseconds since an arbitrary moment. It is always an argument: this
/// module reads no clock.
package struct MonotonicTime: Comparable, Codable, Hashable, Sendable {
    package let nanoseconds: UInt64

    package init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    package static func < (one: MonotonicTime, other: MonotonicTime) -> Bool { one.nanoseconds < other.nanoseconds }

    /// This time plus `duration`; saturates at the end of the clock.
    package func advanced(by duration: Duration) -> MonotonicTime {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
        return MonotonicTime(nanoseconds: overflow ? .max : sum)
    }

    /// Whole milliseconds since `earlier`; 0 if `earlier` is later.
    func milliseconds(since earlier: MonotonicTime) -> UInt64 {
        nanoseconds > earlier.nanoseconds ? (nanoseconds - earlier.nanoseconds) / 1_000_000 : 0
    }

    /// Seconds until `later`, rounded up and at least 1, for `Retry-After`.
    func secondsForRetry(until later: MonotonicTime) -> Int {
        guard later > self else { return 1 }
        let (seconds, rest) = (later.nanoseconds - nanoseconds).quotientAndRemainder(dividingBy: 1_000_000_000)
        return Int(clamping: rest == 0 ? seconds : seconds + 1)
    }
}

/// One moment on both clocks. The monotonic clock decides; the wall clock is for records and certificates.
package struct Moment: Hashable, Sendable {
    package let monotonic: MonotonicTime
    package let unixMilliseconds: Int64

    package init(monotonic: MonotonicTime, unixMilliseconds: Int64) {
        self.monotonic = monotonic
        self.unixMilliseconds = unixMilliseconds
    }
}

extension Duration {
    /// Clamped to 0 … `UInt64.max`, so that no setting can make the arithmetic overflow and trap.
    var wholeNanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (scaled, tooFar) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflow) = scaled.addingReportingOverflow(UInt64(attoseconds) / 1_000_000_000)
        return tooFar || overflow ? .max : sum
    }

    var wholeMilliseconds: UInt64 { wholeNanoseconds / 1_000_000 }
}
