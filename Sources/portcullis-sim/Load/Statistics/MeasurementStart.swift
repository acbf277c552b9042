/// The start of the measurement of latencies.
///
/// Everything whose intended start is in the measurement counts, however late it ends. Leaving out what ends after the measurement
/// would drop the longest latencies.
struct MeasurementStart: Sendable {
    private var start: UInt64?

    mutating func begin(at time: UInt64) {
        start = time
    }

    /// - Parameter intended: the intended start.
    func includes(_ intended: UInt64) -> Bool { start.map { intended >= $0 } ?? false }
}
