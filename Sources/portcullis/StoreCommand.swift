import ArgumentParser
import GatewayServer

struct StoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Back up and check the key store, also while the gateway runs; prepare, fill and copy a fleet's.",
        subcommands: [Backup.self, Check.self, Migrate.self, Import.self, Export.self])

    struct Options: ParsableArguments {
        @OptionGroup var settings: SettingsOptions

        @Option(help: "The store's file; without it that of ATTESTED_KEYS_PATH.")
        var store: String?

        var administration: StoreAdministration {
            get throws { StoreAdministration(path: try store ?? Console.keyStorePath(settings)) }
        }
    }

    struct Backup: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Copy the store into a file, which is checked before it gets its name.",
            discussion: "The copy contains secret keys, as the store does. Only its owner can read it: keep it so.")

        @OptionGroup var options: Options

        @Argument(help: "The copy.")
        var file: String

        @Flag(help: "Replace the file if it exists.")
        var force = false

        func run() throws {
            let store = try options.administration
            do throws(StoreAdministrationError) {
                Console.say(try store.backUp(to: file, replacing: force))
            } catch {
                throw Console.failure("\(error)", hint: error.hint)
            }
        }
    }

    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check the store's files, its disk and every record. Ends with 1 if something has to be done.")

        @OptionGroup var options: Options

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() throws {
            let report = try options.administration.check()
            Console.say(json ? report.json : report.text)
            guard report.isGood else { throw ExitCode.failure }
        }
    }
}
