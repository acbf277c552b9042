import Foundation

/// The results of a benchmark, as JSON for programs and as tables for people.
struct BenchReport: Codable, Sendable {
    struct Machine: Codable, Sendable {
        let processor: String
        let cores: Int
        let kernel: String
    }

    struct Entry: Codable, Sendable {
        let quantity: Quantity
        let unit: String
        let subject: Subject
        let work: String
        let found: Spread
    }

    let date: String
    let isQuick: Bool
    let machine: Machine
    /// The versions of the other measured servers, as their packages name them.
    let versions: [String: String]
    let goals: [GoalRow]
    let figures: [Entry]
    let notes: [String]

    init(
        _ results: BenchResults, goals: [Goal], isQuick: Bool, machine: Machine, versions: [String: String],
        date: String
    ) {
        self.date = date
        self.isQuick = isQuick
        self.machine = machine
        self.versions = versions
        self.goals = goals.map(GoalRow.init)
        notes = results.notes
        figures = Quantity.allCases.flatMap { quantity in
            results.cells.flatMap { cell in
                Subject.allCases.compactMap { subject in
                    results.spread(quantity, of: subject, cell).map {
                        Entry(quantity: quantity, unit: quantity.unit, subject: subject, work: cell, found: $0)
                    }
                }
            }
        }
    }

    var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self) + "\n"
        }
    }

    // MARK: For people

    /// Leaves out goals that weren't requested in this run.
    var goalTable: TextTable {
        TextTable(
            head: ["what", "goal", "measured", ""],
            rows: goals.filter { $0.verdict != GoalRow.leftOut }
                .map { [$0.what, $0.goal, $0.measured, $0.verdict] })
    }

    /// One row for each workload, one column for each subject.
    func table(of quantity: Quantity) -> TextTable? {
        let mine = figures.filter { $0.quantity == quantity }
        guard !mine.isEmpty else { return nil }
        let subjects = Subject.allCases.filter { subject in mine.contains { $0.subject == subject } }
        var works: [String] = []
        for entry in mine where !works.contains(entry.work) { works.append(entry.work) }
        return TextTable(
            head: ["\(quantity.title) [\(quantity.unit)]"] + subjects.map(\.title),
            rows: works.map { work in
                [work]
                    + subjects.map { subject in
                        mine.first { $0.work == work && $0.subject == subject }
                            .map { Figures.short($0.found.median) } ?? "–"
                    }
            })
    }

    private var context: String {
        "\(machine.processor), \(machine.cores) cores, Linux \(machine.kernel); \(date); \(isQuick ? "--quick" : "a full run")"
    }

    /// Text for `docs/PERFORMANCE.md`.
    var markdown: String {
        let tables = Quantity.allCases.compactMap { table(of: $0)?.markdown }
        let notes = notes.isEmpty ? "" : self.notes.map { "- \($0)\n" }.joined() + "\n"
        return "\(context)\n\n" + goalTable.markdown + "\n" + notes + tables.joined(separator: "\n")
    }

    var text: String {
        let tables = Quantity.allCases.compactMap { table(of: $0)?.plain }
        let notes = self.notes.map { "note: \($0)\n" }.joined()
        return tables.joined(separator: "\n") + "\n" + notes + "\n" + context + "\n\n" + goalTable.plain
    }
}

extension BenchReport.Machine {
    /// The machine that runs this process.
    static var here: Self {
        let cpuInfo = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        let model = cpuInfo.split(separator: "\n").first { $0.hasPrefix("model name") }?.split(separator: ":").last
        let kernel = (try? String(contentsOfFile: "/proc/sys/kernel/osrelease", encoding: .utf8)) ?? ""
        return Self(
            processor: model.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown processor",
            cores: ProcessInfo.processInfo.activeProcessorCount,
            kernel: kernel.trimmingCharacters(in: .whitespacesAndNewlines))
    }
}

/// A readable table for a terminal or for Markdown.
struct TextTable: Sendable {
    let head: [String]
    let rows: [[String]]

    /// Columns have the minimum width.
    var plain: String {
        let all = [head] + rows
        let widths = head.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.map { row in
            let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            return String(cells.joined(separator: "  ").trimmingSuffix { $0 == " " }) + "\n"
        }.joined()
    }

    var markdown: String {
        ([head, head.map { _ in "---" }] + rows).map { "| " + $0.joined(separator: " | ") + " |\n" }.joined()
    }
}

extension StringProtocol {
    fileprivate func trimmingSuffix(while isTrimmed: (Character) -> Bool) -> SubSequence {
        var end = endIndex
        while end > startIndex, isTrimmed(self[index(before: end)]) { end = index(before: end) }
        return self[..<end]
    }
}
