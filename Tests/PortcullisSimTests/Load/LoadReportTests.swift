import Foundation
import Testing

@testable import portcullis_sim

struct LoadReportTests {
    private static func report(errors: [String: UInt64] = [:], isGood: Bool = true) -> LoadReport {
        LoadReport(
            scenario: "echo", gateway: "https://localhost:6200", clients: 500, seconds: 10,
            connects: LoadReport.Connects(
                opened: 500, failed: 2, perSecond: 198.5, seconds: 2.5, latencyMicroseconds: nil),
            traffic: LoadReport.Traffic(
                messagesSent: 5_000, messagesAnswered: 5_000, bytesSent: 320_000, bytesReceived: 320_000,
                messagesPerSecond: 500, megabytesPerSecondUp: 0.032, megabytesPerSecondDown: 0.032,
                latencyMicroseconds: LatencySummary(
                    count: 5_000, mean: 210, p50: 180, p90: 300, p99: 1_500, p999: 2_000, max: 2_500_000)),
            flapping: nil, gatewayProcess: nil, ownProcess: nil, errors: errors, tolerated: ["closed_1014"],
            isGood: isGood)
    }

    @Test func `the table shows the measurements`() {
        let table = Self.report().table
        #expect(table.contains("echo, 500 clients, 10.0 s"))
        #expect(table.contains("500, 198/s, 2 failed") || table.contains("500, 199/s, 2 failed"))
        #expect(table.contains("p50 180 µs · p90 300 µs · p99 1.50 ms · p99.9 2.00 ms · max 2.50 s"))
        #expect(table.contains("errors"))
        #expect(table.contains("none"))
    }

    @Test func `every error is named and marked if it was tolerated`() {
        let table = Self.report(errors: ["lost_bytes": 17, "closed_1014": 3], isGood: false).table
        #expect(table.contains("error lost_bytes"))
        #expect(table.contains("3 (tolerated)"))
        #expect(!table.contains("17 (tolerated)"))
    }

    @Test func `the JSON is the report`() throws {
        let report = Self.report(errors: ["lost_bytes": 17], isGood: false)
        #expect(try JSONDecoder().decode(LoadReport.self, from: Data(report.json.utf8)) == report)
    }

    @Test func `errors are counted by kind, and the number of kinds is bounded`() {
        var counts = ErrorCounts()
        for number in 0..<500 { counts.count(ErrorKind(rawValue: "kind_\(number)")) }
        #expect(counts.counts.count == ErrorCounts.maximumKinds + 1)
        #expect(counts.total == 500)
        #expect(counts.without([ErrorCounts.others]).count == ErrorCounts.maximumKinds)
    }

    @Test func `error text of a server is made printable`() {
        #expect(ErrorKind.refused(status: 429, code: "rate_limited").rawValue == "refused_429_rate_limited")
        #expect(ErrorKind.told(code: "a\u{1B}[2J b").rawValue == "a__2J_b")
        #expect(ErrorKind.told(code: String(repeating: "x", count: 100)).rawValue.count == 40)
        #expect(ErrorKind.closed(code: nil).rawValue == "closed_without_code")
    }

    @Test func `percentiles are exact to three digits`() throws {
        var histogram = LatencyHistogram()
        for microseconds in 1...10_000 as ClosedRange<UInt64> { histogram.record(nanoseconds: microseconds * 1_000) }
        histogram.record(nanoseconds: .max)
        let summary = try #require(histogram.summary)
        #expect(summary.count == 10_001)
        #expect(abs(summary.p50 - 5_000) <= 5)
        #expect(abs(summary.p99 - 9_900) <= 10)
        #expect(abs(summary.max - 600_000_000) <= 600_000)
    }

    @Test func `latencies count from the start of the measurement`() {
        var start = MeasurementStart()
        #expect(!start.includes(0) && !start.includes(.max))
        start.begin(at: 100)
        #expect(!start.includes(99) && start.includes(100) && start.includes(.max))
    }

    @Test func `merged histograms count both`() {
        var left = LatencyHistogram()
        var right = LatencyHistogram()
        left.record(nanoseconds: 1_000_000)
        right.record(nanoseconds: 9_000_000)
        left.merge(right)
        #expect(left.count == 2)
        #expect(abs((left.summary?.max ?? 0) - 9_000) <= 9)
    }

    @Test func `a process is read whatever its name contains`() throws {
        let rest = "S 1 1 1 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 3 0 1000 5000000 2048 18446744073709551615"
        let usage = try #require(ProcessUsage(stat: "42 (a) b (c)) " + rest, ticksPerSecond: 100, pageBytes: 4_096))
        #expect(usage.cpuSeconds == 3)
        #expect(usage.threads == 3)
        #expect(usage.residentBytes == 2_048 * 4_096)
        #expect(ProcessUsage(stat: "42 (x) S 1", ticksPerSecond: 100, pageBytes: 4_096) == nil)
    }
}
