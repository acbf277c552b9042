import ArgumentParser
import GatewayServer
import Observability
import OperatorTools
import Settings

struct BlockListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "block-list",
        abstract: "Administer the block list of a fleet, which its gateways apply in addition to BLOCK_LIST_PATH.",
        discussion: """
            Entries are those of the file: `address 203.0.113.0/24`, `key …`, `certificate …`. Every gateway knows of a change within a second, \
            and closes the sessions that it excludes.
            """,
        subcommands: [List.self, Add.self, Remove.self])

    struct Options: ParsableArguments {
        @OptionGroup var settings: SettingsOptions

        func administer<Value>(
            _ body: (FleetStoreAdministration) throws(OperatorError) -> Value
        ) throws -> Value {
            let store = try Console.fleetStore(settings)
            do throws(OperatorError) {
                return try body(try FleetStoreAdministration(store))
            } catch {
                throw Console.failure("\(error)", hint: error.hint)
            }
        }
    }

    /// What to add or remove: one entry of several words, or the lines of a file.
    struct Entries: ParsableArguments {
        /// Room for as many entries as a list can have.
        private static let maximumBytes = 16_777_216

        @Option(help: "A file with one entry a line, like that of BLOCK_LIST_PATH.")
        var file: String?

        @Argument(help: "An entry: its kind and its value.")
        var entry: [String] = []

        func validate() throws {
            guard entry.isEmpty == (file != nil) else {
                throw ValidationError("Name either an entry, like `address 203.0.113.7`, or a file with --file.")
            }
        }

        func lines() throws -> [String] {
            guard let file else { return [entry.joined(separator: " ")] }
            do throws(SettingProblem) {
                return try NamedFile.text(file, maximumBytes: Self.maximumBytes, subject: "the file ")
                    .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            } catch {
                throw Console.failure(error.problem, hint: error.remedy)
            }
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List all entries, one a line, with the time and reason as a comment.")

        @OptionGroup var options: Options

        @Flag(help: "One JSON object a line.")
        var json = false

        func run() throws {
            let lines = try options.administer { (store) throws(OperatorError) in try store.blocked(json: json) }
            for line in lines { Console.say(line) }
        }
    }

    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Block addresses, ranges or identities.")

        @OptionGroup var options: Options
        @OptionGroup var entries: Entries

        @Option(help: "For the list; at most 200 bytes.")
        var reason: String?

        func run() throws {
            let (lines, reason) = (try entries.lines(), reason)
            Console.say(
                try options.administer { (store) throws(OperatorError) in
                    try store.block(lines, reason: reason, at: .now())
                })
        }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Take entries off the list.")

        @OptionGroup var options: Options
        @OptionGroup var entries: Entries

        func run() throws {
            let lines = try entries.lines()
            Console.say(
                try options.administer { (store) throws(OperatorError) in try store.unblock(lines) })
        }
    }
}
