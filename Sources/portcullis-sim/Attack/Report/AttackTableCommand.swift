import ArgumentParser
import Foundation

struct AttackTableCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attack-table",
        abstract: "Shows what scripts/attack has measured, and holds it against the goals.",
        discussion: """
            Goals, for attacks below 1 MB/s from at most 256 addresses: an honest session's echo within 50 ms and a new connect within 1 s (99th
            percentiles), and no more than 20 CPU seconds of the gateway for one of the attacker's. Verdicts in parentheses are of attacks
            that are larger. It ends with 1 where a goal is missed by a factor of two, or honest clients lost something or were refused.
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
