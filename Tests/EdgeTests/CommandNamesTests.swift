import EdgeTestKit
import Testing

extension EdgeTests {
    /// What the program says to words that are no commands, and what all commands of a kind have.
    @Suite struct CommandNamesTests {
        @Test(arguments: [
            (["sessons"], "portcullis has no command \"sessons\"; was sessions meant?", "portcullis check-config "),
            (
                ["sessions", "lst", "--json"], "portcullis sessions has no command \"lst\"; was list meant?",
                "sessions close "
            ),
            (
                ["keys", "purge\u{1B}[31m"], "portcullis keys has no command \"purge\\u{001B}[31m\"",
                "portcullis keys erase "
            ),
        ])
        func `a word that is no command lists the commands`(words: [String], first: String, command: String)
            async throws
        {
            let ran = try await GatewayProcess.run(words)
            #expect(ran.ending == .exited(64) && ran.outputText.isEmpty, "\(ran)")
            #expect(ran.errorLines.first == "portcullis: error: \(first)", "\(ran)")
            #expect(ran.errorText.contains(command) && ran.errorText.contains("` explains one."), "\(ran)")
        }

        @Test func `arguments, options and help aren't taken for commands`() async throws {
            for words in [
                ["explain", "nonsense", "--file", "/dev/null"], ["help", "sessions"], ["--version"], ["settings"],
            ] {
                #expect(try await !GatewayProcess.run(words).errorText.contains("has no command"), "\(words)")
            }
        }

        @Test func `every command that lists has --json`() async throws {
            var commands = [["fleet", "status"], ["store", "check"], ["keys", "prune"], ["audit"]]
            for group in try await names(in: []) {
                commands += try await names(in: [group]).filter { $0 == "list" }.map { [group, $0] }
            }
            #expect(commands.count >= 9, "\(commands)")
            for command in commands {
                let help = try await GatewayProcess.run(["help"] + command)
                #expect(help.outputText.contains("\n  --json "), "\(command): \(help)")
            }
        }

        /// The subcommands of a command, from its help.
        private func names(in command: [String]) async throws -> [String] {
            let help = try await GatewayProcess.run(["help"] + command).outputText
            guard let list = help.split(separator: "SUBCOMMANDS:\n").dropFirst().first else { return [] }
            return list.matches(of: #/(?m)^  ([a-z-]+) /#).map { String($0.1) }
        }
    }
}
