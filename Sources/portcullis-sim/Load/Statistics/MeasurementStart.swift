/// Since when latencies count.
///
/// What was meant to begin during the measurement counts, however late it ends. That it ends behind the measurement is no reason to leave it
/// out: the longest would be missing.
struct MeasurementStart: Sendable {
    private var start: UInt64?

    mutating func begin(at time: UInt64) {
        start = time
    }

    /// - Parameter intended: when it was meant to begin.
    func includes(_ intended: UInt64) -> Bool { start.map { intended >= $0 } ?? false }
}
