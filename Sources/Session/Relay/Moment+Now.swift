package import Admission
import FoundationEssentials
import Reactors

extension MonotonicTime {
    package static var now: MonotonicTime { MonotonicTime(nanoseconds: Reactor.monotonicNow) }
}

extension Moment {
    package static var now: Moment {
        Moment(monotonic: .now, unixMilliseconds: Int64((Date.now.timeIntervalSince1970 * 1_000).rounded(.down)))
    }
}
