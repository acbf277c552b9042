package import Admission
import FoundationEssentials
package import Reactors

extension MonotonicTime {
    package static var now: MonotonicTime { MonotonicTime(nanoseconds: Reactor.monotonicNow) }
}

extension Moment {
    package static var now: Moment { Moment(monotonic: .now) }

    fileprivate init(monotonic: MonotonicTime) {
        let unix = (Date.now.timeIntervalSince1970 * 1_000).rounded(.down)
        self.init(monotonic: monotonic, unixMilliseconds: Int64(unix))
    }
}

extension Reactor {
    /// The current time, in the form that the gate needs.
    package var moment: Moment { Moment(monotonic: MonotonicTime(nanoseconds: now)) }
}
