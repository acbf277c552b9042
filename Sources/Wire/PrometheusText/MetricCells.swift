import CoreMetrics
import Synchronization

/// A total. Counting is one atomic addition.
final class CounterCell: CounterHandler {
    private let total = Atomic<Int64>(0)

    /// A total never falls.
    func increment(by amount: Int64) {
        if amount > 0 { total.wrappingAdd(amount, ordering: .relaxed) }
    }

    func reset() { total.store(0, ordering: .relaxed) }

    var value: Int64 { total.load(ordering: .relaxed) }
}

/// A current number. Setting it is one atomic store.
final class GaugeCell: MeterHandler, RecorderHandler {
    private let bits = Atomic<UInt64>(0)

    func set(_ value: Int64) { set(Double(value)) }

    func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }

    func record(_ value: Int64) { set(value) }

    func record(_ value: Double) { set(value) }

    func increment(by amount: Double) {
        var old = bits.load(ordering: .relaxed)
        while true {
            let new = (Double(bitPattern: old) + amount).bitPattern
            let outcome = bits.weakCompareExchange(expected: old, desired: new, ordering: .relaxed)
            if outcome.exchanged { return }
            old = outcome.original
        }
    }

    func decrement(by amount: Double) { increment(by: -amount) }

    var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }
}

/// A distribution over fixed buckets. Recording is a search in a dozen bounds and two additions under a lock that
/// nothing else holds for longer; it allocates nothing. So count and sum of one answer always belong together.
final class HistogramCell: TimerHandler, RecorderHandler {
    struct Snapshot: Equatable {
        /// One more than there are bounds: the last is without a bound. Not cumulative.
        var counts: [UInt64]
        var sum: Double
    }

    let bounds: [Double]
    private let state: Mutex<Snapshot>

    init(bounds: [Double]) {
        self.bounds = bounds
        state = Mutex(Snapshot(counts: [UInt64](repeating: 0, count: bounds.count + 1), sum: 0))
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(max(0, duration)) / 1e9) }

    func record(_ value: Int64) { record(Double(value)) }

    /// A value that is no number is ignored: it would make the sum useless for ever.
    func record(_ value: Double) {
        guard value.isFinite else { return }
        let index = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[index] &+= 1
            state.sum += value
        }
    }

    var snapshot: Snapshot { state.withLock { $0 } }
}
