/// A point on the machine's monotonic clock, in nanoseconds since an arbitrary moment. It is handed in: nothing here reads a clock.
package struct MonotonicTime: Comparable, Hashable, Sendable {
    package let nanoseconds: UInt64

    package init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    package static func < (one: MonotonicTime, other: MonotonicTime) -> Bool { one.nanoseconds < other.nanoseconds }

    /// This time and `duration` later; stops at the end of the clock.
    package func advanced(by duration: Duration) -> MonotonicTime {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
        return MonotonicTime(nanoseconds: overflow ? .max : sum)
    }

    /// Whole milliseconds from `earlier` to here; 0 if `earlier` lies later.
    func milliseconds(since earlier: MonotonicTime) -> UInt64 {
        nanoseconds > earlier.nanoseconds ? (nanoseconds - earlier.nanoseconds) / 1_000_000 : 0
    }

    /// Seconds from here to `later`, rounded up and at least 1: what a `Retry-After` can say.
    func secondsForRetry(until later: MonotonicTime) -> Int {
        guard later > self else { return 1 }
        let (seconds, rest) = (later.nanoseconds - nanoseconds).quotientAndRemainder(dividingBy: 1_000_000_000)
        return Int(clamping: rest == 0 ? seconds : seconds + 1)
    }
}

/// One moment on both clocks: the monotonic one decides, the calendar is for records and for certificates.
package struct Moment: Hashable, Sendable {
    package let monotonic: MonotonicTime
    package let unixMilliseconds: Int64

    package init(monotonic: MonotonicTime, unixMilliseconds: Int64) {
        self.monotonic = monotonic
        self.unixMilliseconds = unixMilliseconds
    }
}

extension Duration {
    /// Clamped to 0 … `UInt64.max`, so that no setting can make the arithmetic trap.
    var wholeNanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (scaled, tooFar) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflow) = scaled.addingReportingOverflow(UInt64(attoseconds) / 1_000_000_000)
        return tooFar || overflow ? .max : sum
    }

    var wholeMilliseconds: UInt64 { wholeNanoseconds / 1_000_000 }
}
