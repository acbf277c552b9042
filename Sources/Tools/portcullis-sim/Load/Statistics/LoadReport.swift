import Foundation
import Histogram

/// The results of a run, as a table for people and as JSON for programs.
struct LoadReport: Hashable, Sendable, Codable {
    struct Connects: Hashable, Sendable, Codable {
        /// Totals of the whole run.
        let opened, failed: UInt64
        /// The rate while all clients connected for the first time or, in the scenario `connect`, during the
        /// measurement.
        let perSecond: Double
        let seconds: Double
        /// From the intended start to the 101, including challenge, assertion, TCP and TLS.
        let latencyMicroseconds: LatencySummary?
    }

    struct Traffic: Hashable, Sendable, Codable {
        let messagesSent, messagesAnswered, bytesSent, bytesReceived: UInt64
        let messagesPerSecond, megabytesPerSecondUp, megabytesPerSecondDown: Double
        /// From the intended send time to the last byte of the answer.
        let latencyMicroseconds: LatencySummary?
    }

    struct Flapping: Hashable, Sendable, Codable {
        let vanished, answersLost, resumed, takenOver, overtaken, postponed, begun, begunAnew, abandonedBytes,
            unclaimed: UInt64
        let gaps, gapBytes, checkedBytes: UInt64
    }

    struct Process: Hashable, Sendable, Codable {
        let cpuSeconds, cpuPercent: Double
        let cpuMicrosecondsPerMessage, cpuMicrosecondsPerConnect: Double?
        let residentBytesBefore, residentBytesAfter, residentBytesHighest: UInt64
        let threads: Int
        /// The increase of the counter that `--counter` named.
        let counted: UInt64?
        let countedPerMessage: Double?
    }

    let scenario: String
    let gateway: String
    let clients: Int
    /// The duration of the measurement.
    let seconds: Double
    let connects: Connects
    let traffic: Traffic
    let flapping: Flapping?
    let gatewayProcess: Process?
    /// The tool itself: if it uses nearly 100 % per thread, the tool was measured, not the server.
    let ownProcess: Process?
    let errors: [String: UInt64]
    let tolerated: [String]
    /// Nothing was lost or wrong, except tolerated errors.
    let isGood: Bool

    var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }
}

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
