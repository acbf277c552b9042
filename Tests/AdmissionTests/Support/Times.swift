import Admission

/// The moment at which tests begin; an hour after the epoch of their challenges.
let start = Moment(monotonic: MonotonicTime(nanoseconds: 5_000_000_000_000), unixMilliseconds: 1_771_300_000_000)
let epoch = MonotonicTime(nanoseconds: 1_400_000_000_000)

extension Moment {
    static func + (moment: Moment, milliseconds: Int) -> Moment {
        Moment(
            monotonic: moment.monotonic.advanced(by: .milliseconds(milliseconds)),
            unixMilliseconds: moment.unixMilliseconds + Int64(milliseconds))
    }

    static func - (moment: Moment, milliseconds: Int) -> Moment {
        Moment(
            monotonic: MonotonicTime(
                nanoseconds: moment.monotonic.nanoseconds - UInt64(milliseconds) * 1_000_000),
            unixMilliseconds: moment.unixMilliseconds - Int64(milliseconds))
    }
}
