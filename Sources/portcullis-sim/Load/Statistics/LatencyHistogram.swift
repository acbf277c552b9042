import Histogram

/// Times from a microsecond to ten minutes, with three digits of precision; longer times count as ten minutes.
struct LatencyHistogram: Sendable {
    private static let longest: UInt64 = 600_000_000_000
    private var histogram = Histogram<UInt32>(
        lowestDiscernibleValue: 256, highestTrackableValue: longest, numberOfSignificantValueDigits: .three)

    var count: UInt64 { histogram.totalCount }

    mutating func record(nanoseconds: UInt64) {
        histogram.record(min(nanoseconds, Self.longest))
    }

    mutating func merge(_ other: LatencyHistogram) {
        guard other.count > 0 else { return }
        histogram.add(other.histogram)
    }

    var summary: LatencySummary? {
        guard count > 0 else { return nil }
        func at(_ percentile: Double) -> Double { Double(histogram.valueAtPercentile(percentile)) / 1e3 }
        return LatencySummary(
            count: count, mean: histogram.mean / 1e3, p50: at(50), p90: at(90), p99: at(99), p999: at(99.9),
            max: Double(histogram.max) / 1e3)
    }
}

/// In microseconds.
struct LatencySummary: Hashable, Sendable, Codable {
    let count: UInt64
    let mean, p50, p90, p99, p999, max: Double
}
