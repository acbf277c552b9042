import Foundation
import Testing

@testable import portcullis_sim

struct BenchOutputTests {
    private static var report: BenchReport {
        var results = BenchResults()
        for round in 0..<3 {
            results.record(
                10 + Double(round), .cpuPerMessage, of: .portcullis, Cell.flood(bytes: 64, clients: 100, window: 1),
                round: round)
            results.record(
                20, .cpuPerMessage, of: .floorAtOnce, Cell.flood(bytes: 64, clients: 100, window: 1), round: round)
        }
        results.record(15.5, .residentPerSession, of: .portcullis, Cell.idle)
        results.note("a < b & c")
        results.note("a < b & c")
        return BenchReport(
            results, goals: GoalList.goals(results, GoalList.Circumstances()), isQuick: true,
            machine: BenchReport.Machine(processor: "P", cores: 2, kernel: "6"), versions: ["haproxy": "2.6"],
            date: "2026-01-02")
    }

    @Test func `the JSON has every figure with its rounds`() throws {
        let report = Self.report
        let again = try JSONDecoder().decode(BenchReport.self, from: Data(report.json.utf8))
        #expect(again.figures.count == 3 && again.notes == ["a < b & c"])
        let ours = try #require(again.figures.first { $0.subject == .portcullis && $0.quantity == .cpuPerMessage })
        #expect(ours.found == Spread([10, 11, 12]) && ours.unit == "µs")
    }

    @Test func `tables have a row per workload and a column per subject`() throws {
        let table = try #require(Self.report.table(of: .cpuPerMessage))
        #expect(table.head == ["CPU per message [µs]", "Portcullis", "C floor, writing at once"])
        #expect(table.rows == [["64 B, 100 connections, 1 in flight", "11.0", "20.0"]])
        #expect(Self.report.table(of: .latencyP50) == nil)
        #expect(Self.report.markdown.contains("| 64 B, 100 connections, 1 in flight | 11.0 | 20.0 |"))
        #expect(Self.report.text.contains("note: a < b & c\n"))
        #expect(Self.report.text.contains("0.55 × (0.50–0.60)"))
    }

    @Test func `columns of a plain table are aligned`() {
        let table = TextTable(head: ["a", "µ"], rows: [["long", "x"], ["b", ""]])
        #expect(table.plain == "a     µ\nlong  x\nb\n")
        #expect(table.markdown == "| a | µ |\n| --- | --- |\n| long | x |\n| b |  |\n")
    }

    @Test(arguments: [0.013, 0.5, 1, 4.9, 5, 17, 99, 100, 1_234, 87_654])
    func `an axis ends at a round number above the largest value and has few steps`(value: Double) throws {
        let scale = BarChart.scale(upTo: value)
        #expect(scale.end >= value * 0.9999 && scale.end <= value * 2.01)
        #expect((2...7).contains(scale.ticks.count) && scale.ticks.first == 0 && scale.ticks.last == scale.end)
    }

    @Test(arguments: [0, -1, Double.nan, .infinity])
    func `an axis without values ends at 1`(value: Double) {
        #expect(BarChart.scale(upTo: value).end == 1)
    }

    @Test func `the drawing is well-formed XML and names its units`() {
        let chart = Self.report.chart
        #expect(XMLParts(chart).isBalanced)
        #expect(chart.contains("[µs]</text>") && chart.contains("[KiB]</text>"))
        #expect(chart.contains(">Portcullis</text>") && chart.contains(">C floor, writing at once</text>"))
        #expect(BarChart.escaped("<a & b>") == "&lt;a &amp; b&gt;")
    }

    @Test func `a list is rotated, also an empty one`() {
        #expect([1, 2, 3].rotated(by: 4) == [2, 3, 1])
        #expect([Int]().rotated(by: 2) == [])
    }
}

/// Counts opened and closed elements.
private struct XMLParts {
    let isBalanced: Bool

    init(_ text: String) {
        let opened = text.matches(of: /<[a-z][^>]*[^\/]>/).count
        let closed = text.matches(of: /<\/[a-z]+>/).count
        isBalanced = opened == closed && opened > 0 && text.hasPrefix("<svg ")
    }
}
