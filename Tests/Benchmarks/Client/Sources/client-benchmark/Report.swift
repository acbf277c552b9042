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
        let samples = growth.memory.all.dropFirst(Int(Double(growth.memory.all.count) * Self.warmUp))
        let cuts = samples.map { Double($0.cut) }
        add(
            slope: Samples.slope(zip(cuts, samples.map(\.resident)).map { (x: $0, y: $1) }),
            of: "growth of resident memory a cut, after the first fifth of \(growth.cuts) cuts")
        add(
            slope: Samples.slope(zip(cuts, samples.map(\.heap)).map { (x: $0, y: $1) }),
            of: "… of what is allocated")
        let ends = [samples.first, samples.last].compactMap { $0 }.map { sample in
            "\(Self.text(sample.resident, 0)) and \(Self.text(sample.heap, 0)) KiB"
        }
        rows.append(("… resident and allocated then, and at the end", "–", ends.joined(separator: "; "), nil))
        add(completeness: growth)
    }

    /// Met if the slope isn't larger than twice its standard error.
    private mutating func add(slope line: (slope: Double, error: Double), of what: String) {
        let measured = "\(Self.text(line.slope, 4)) ± \(Self.text(2 * line.error, 4)) KiB"
        rows.append((what, "0 KiB", measured, line.slope - 2 * line.error <= 0))
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
