import Foundation

/// The table: goals, and what was measured.
struct Report {
    private static let throughputGoal = 30.0
    private static let resumeGoal = 1.0
    /// The samples before are a warm-up: pools and caches fill.
    private static let warmUp = 0.2

    private var rows: [(what: String, goal: String, measured: String, isMet: Bool?)] = []

    mutating func add(_ throughput: Throughput.Result) {
        let megabytes = Double(Throughput.bytes) / 1e6
        for (what, times) in [("second", throughput.wall), ("second of the client's CPU", throughput.cpu)] {
            let rate = megabytes / Samples.percentile(0.5, of: times)
            rows.append(
                (
                    "10 MB of output, typed: MB a \(what), median of \(times.count) rounds",
                    "≥ \(Self.text(Self.throughputGoal, 1))", Self.text(rate, 1), rate >= Self.throughputGoal
                ))
        }
    }

    mutating func add(resumes: Cuts.Result) {
        let median = Samples.percentile(0.5, of: resumes.times)
        rows.append(
            (
                "a cut until the output goes on, median of \(resumes.cuts) cuts",
                "≤ \(Self.text(Self.resumeGoal, 3)) s",
                "\(Self.text(median, 3)) s", median <= Self.resumeGoal
            ))
        let worst = resumes.times.max() ?? .nan
        rows.append(("… the longest", "–", "\(Self.text(worst, 3)) s", nil))
        add(completeness: resumes)
    }

    mutating func add(growth: Cuts.Result) {
        let points = growth.memory.enumerated().dropFirst(Int(Double(growth.cuts) * Self.warmUp)).map {
            (x: Double($0.offset), y: $0.element)
        }
        let (slope, error) = Samples.slope(points)
        let measured = "\(Self.text(slope, 4)) ± \(Self.text(2 * error, 4)) KiB"
        rows.append(
            (
                "growth of resident memory a cut, after the first fifth of \(growth.cuts) cuts", "0 KiB", measured,
                slope - 2 * error <= 0
            ))
        let (first, last) = (points.first?.y ?? .nan, points.last?.y ?? .nan)
        rows.append(
            ("… resident memory then, and at the end", "–", "\(Self.text(first, 0)), \(Self.text(last, 0)) KiB", nil))
        add(completeness: growth)
    }

    private mutating func add(completeness result: Cuts.Result) {
        let measured =
            result.isComplete
            ? "all"
            : "\(result.gaps) gaps, \(result.losses) lost sessions, \(result.ticks.isInOrder ? "" : "not ")in order"
        rows.append(("… of \(result.ticks.count) lines each once and in order", "all", measured, result.isComplete))
    }

    func print() {
        Swift.print("| what | goal | measured |  |\n| --- | --- | --- | --- |")
        for row in rows {
            let verdict = row.isMet.map { $0 ? "met" : "missed" } ?? ""
            Swift.print("| \(row.what) | \(row.goal) | \(row.measured) | \(verdict) |")
        }
    }

    private static func text(_ number: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", number) }
}
