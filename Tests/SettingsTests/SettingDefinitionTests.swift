import Foundation
import SettingsTestKit
import Testing

@testable import Settings

/// A section that the gateway doesn't have, with one property for each kind of setting.
private struct TrialSection: SettingSection {
    static let title = "Trial"
    static let part: SettingPart? = .appAttest

    let patienceSeconds = LiveSetting<Int>.integer(
        "TRIAL_PATIENCE_SECONDS", default: 7, 1...9, "s", "How long the trial waits.",
        details: "First paragraph.\n  left --as it is\nDanger: last one.")
    let ceiling = LiveSetting<Int?>.limit("TRIAL_CEILING", default: 5, "a second", "The ceiling; `0` is no limit.")
    let cores = StartSetting<Int?>.derived(
        "TRIAL_CORES", from: .cores, 0...64, "threads", "Threads; `0` is one per core.")
    let name = LiveSetting<String?>.path("TRIAL_PATH", "a file", "A file of the trial.").required()
}

/// One definition is enough: everything that is shown about a setting is derived from it.
struct SettingDefinitionTests {
    private let table = SettingTable([TrialSection()])
    private let bench: ConfigurationBench

    init() throws {
        bench = try ConfigurationBench()
    }

    private func loader(_ environment: [String: String], file: String? = nil) -> ConfigurationLoader {
        var loader = ConfigurationLoader(
            environment: environment, environmentFile: file, now: bench.now, table: table)
        loader.readAll()
        return loader
    }

    private func values(_ environment: [String: String]) -> SectionValues<TrialSection> {
        SectionValues(TrialSection(), loader(environment).values)
    }

    private func problems(_ environment: [String: String]) -> [String] {
        loader(environment).errors.map { "\($0.setting ?? "-") \($0.problem)" }
    }

    @Test func `a definition gives the setting its default and its value`() {
        let defaults = values(["TRIAL_PATH": "/a"])
        #expect(defaults.patienceSeconds == 7 && defaults.ceiling == 5 && defaults.cores == nil)
        let set = values(["TRIAL_PATH": "/a", "TRIAL_PATIENCE_SECONDS": "8", "TRIAL_CEILING": "0", "TRIAL_CORES": "3"])
        #expect(set.patienceSeconds == 8 && set.ceiling == nil && set.cores == 3 && set.name == "/a")
    }

    @Test func `a definition gives the setting its range and the suggestion for a mistyped name`() throws {
        #expect(
            problems(["TRIAL_PATIENCE_SECONDS": "10"]) == [
                "TRIAL_PATIENCE_SECONDS is out of range", "TRIAL_PATH isn't set",
            ])
        let file = try bench.file("trial.env", "TRIAL_PATIENCE_SECOND=1\nTN_HOST=h\n")
        let errors = loader(["TRIAL_PATH": "/a"], file: file).errors
        #expect(errors.map(\.setting) == ["TRIAL_PATIENCE_SECOND", "TN_HOST"])
        #expect(errors.first?.remedy == "Did you mean TRIAL_PATIENCE_SECONDS?")
    }

    @Test func `check-config shows the setting`() {
        let shown = loader(["TRIAL_PATH": "/a", "TRIAL_CORES": "0"]).effectiveSettings.map(\.description)
        #expect(
            shown == [
                "TRIAL_PATIENCE_SECONDS=7  # default", "TRIAL_CEILING=5  # default",
                "TRIAL_CORES=0  # environment: \(Cores.count) here", "TRIAL_PATH=/a  # environment",
            ])
    }

    @Test func `the example file explains the setting`() {
        let file = SettingManual(table).environmentFile
        let expected = """

            # How long the trial waits. First paragraph.
            #   left --as it is
            # Danger: last one.
            # Values: s, 1–9.
            #TRIAL_PATIENCE_SECONDS=7

            # The ceiling; `0` is no limit.
            # Values: a second, 0–1000000000.
            #TRIAL_CEILING=5

            # Threads; `0` is one per core.
            # Values: threads, 0–64. A change needs a restart.
            #TRIAL_CORES=0

            # A file of the trial.
            # Values: a file. Required.
            #TRIAL_PATH=

            """
        #expect(file.hasSuffix(expected))
        #expect(file.contains("\n# Trial\n"))
    }

    @Test func `the documentation lists the setting, and the text around the table is unchanged`() {
        let rows = [
            "| name | default | unit, values | change | meaning |", "|---|---|---|---|---|",
            "| `TRIAL_PATIENCE_SECONDS` | `7` | s, 1–9 | live | How long the trial waits. |",
            "| `TRIAL_CEILING` | `5` | a second, 0–1000000000 | live | The ceiling; `0` is no limit. |",
            "| `TRIAL_CORES` | `0` | threads, 0–64 | restart | Threads; `0` is one per core. |",
            "| `TRIAL_PATH` | required | a file | live | A file of the trial. |",
        ].joined(separator: "\n")
        let manual = SettingManual(table)
        #expect(manual.markdown == "## Trial\n\n\(rows)\n")
        let around = ("# All\n\n## Trial\n\nBefore.\n\n", "\n\nAfter.\n\n| other | table |\n\n## Next\n\n| a |\n")
        #expect(manual.updating(around.0 + "| old |\n|---|" + around.1) == around.0 + rows + around.1)
        #expect(manual.updating("## Trial\n\nText.\n") == "## Trial\n\n\(rows)\n\nText.\n")
        #expect(manual.updating("# All\n") == "# All\n\n## Trial\n\n\(rows)\n")
    }

    @Test func `a reload compares the setting and reports whether it needs a restart`() {
        func difference(_ new: [String: String], pinned: Set<SettingPart> = []) -> ReloadDifference {
            let old = loader(["TRIAL_PATH": "/a"]).effectiveSettings
            let changed = loader(["TRIAL_PATH": "/a"].merging(new) { $1 }).effectiveSettings
            return ReloadDifference(
                from: SettingsInEffect(old), to: SettingsInEffect(changed), pinned: pinned, table: table)
        }
        let changes = ["TRIAL_PATIENCE_SECONDS": "8", "TRIAL_CORES": "2"]
        #expect(difference(changes).applied.map(\.description) == ["TRIAL_PATIENCE_SECONDS: 7 -> 8"])
        #expect(difference(changes).needingRestart.map(\.description) == ["TRIAL_CORES: 0 -> 2"])
        #expect(difference(changes, pinned: [.clientTLS]).applied.count == 1)
        #expect(difference(changes, pinned: [.appAttest]).needingRestart.count == 2)
    }
}
