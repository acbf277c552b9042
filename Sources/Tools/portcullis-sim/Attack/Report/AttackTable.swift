import ArgumentParser
import Foundation

/// All attacks of a run, for people and programs.
struct AttackTable: Hashable, Codable, Sendable {
    /// The trial with only honest clients.
    let quiet: AttackRow
    let rows: [AttackRow]
    let isGood: Bool

    init(quiet: AttackTrial, trials: [AttackTrial]) {
        self.quiet = AttackRow(quiet, quiet: quiet)
        rows = trials.map { AttackRow($0, quiet: quiet) }
        isGood = self.quiet.complaints.isEmpty && rows.allSatisfy(\.isGood)
    }

    var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }

    var text: String {
        let head = [
            "attack", "echo p50", "p99", "connect p50", "p99", "gateway CPU", "attacker CPU", "ratio", "sent", "log",
            "audit", "memory", "goals: echo", "median", "connect", "ratio", "text",
        ]
        let table = TextTable(head: head, rows: ([quiet] + rows).map(Self.cells)).plain
        let complaints = ([quiet] + rows).flatMap { row in row.complaints.map { "\(row.name): \($0)\n" } }
        return table + (complaints.isEmpty ? "" : "\n" + complaints.joined())
    }

    private static func cells(_ row: AttackRow) -> [String] {
        let isQuiet = row.attackerCPUSeconds == 0 && row.attackerBytesPerSecond == 0
        return [
            row.name, time(row.echo?.p50), time(row.echo?.p99), time(row.connect?.p50), time(row.connect?.p99),
            Figures.short(row.gatewayCPUSeconds) + " s", isQuiet ? "–" : Figures.short(row.attackerCPUSeconds) + " s",
            row.amplification.map { Figures.short($0) } ?? "–",
            isQuiet ? "–" : bytes(row.attackerBytesPerSecond) + "/s",
            bytes(Double(row.logBytes)), bytes(Double(row.auditBytes)), bytes(Double(row.residentBytesHighest)),
        ] + AttackGoal.allCases.map { isQuiet ? "–" : word($0, row) }
    }

    private static func word(_ goal: AttackGoal, _ row: AttackRow) -> String {
        let word =
            switch row.verdict(goal) {
            case .met: "met"
            case .missed: "missed"
            case .missedClearly: "MISSED"
            case .unknown: "UNKNOWN"
            }
        return row.unjudged.contains(goal.rawValue) ? "(\(word.lowercased()))" : word
    }

    private static func time(_ microseconds: Double?) -> String { microseconds.map { Figures.time($0) } ?? "–" }

    private static func bytes(_ count: Double) -> String {
        switch count {
        case 1e6...: Figures.short(count / 1e6) + " MB"
        case 1e3...: Figures.short(count / 1e3) + " kB"
        default: "\(Int(count)) B"
        }
    }
}

struct AttackTableCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attack-table",
        abstract: "Shows what scripts/attack has measured, and holds it against the goals.",
        discussion: """
            Goals, for attacks below 1 MB/s from at most 256 addresses: an honest session's echo within 50 ms and a new connect within 1 s (99th
            percentiles), and no more than 20 CPU seconds of the gateway for one of the attacker's. For floods of admitted clients and of MUDs
            also a median echo within 5 ms, whatever their size. For hostile texts at most 20 CPU milliseconds of the gateway for 64 KiB.
            Verdicts in parentheses don't count. It ends with 1 where a goal is missed by a factor of two, or honest clients lost something or
            were refused.
            """)

    @Argument(help: "A folder with the folder `quiet` and one for each attack.")
    var folder: String

    @Option(help: "A file that gets the table as JSON.")
    var save: String?

    func run() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0 != "quiet" }.sorted()
        let table: AttackTable
        do {
            table = AttackTable(
                quiet: try AttackTrial(readingFrom: "\(folder)/quiet"),
                trials: try names.map { try AttackTrial(readingFrom: "\(folder)/\($0)") })
        } catch {
            throw SimOutput.failure("\(folder) doesn't hold the trials of an attack: \(error)")
        }
        if let save { try (table.json + "\n").write(toFile: save, atomically: true, encoding: .utf8) }
        SimOutput.show(table.text)
        if !table.isGood { throw ExitCode.failure }
    }
}
