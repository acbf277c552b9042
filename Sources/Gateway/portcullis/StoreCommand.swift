import ArgumentParser
import GatewayServer
import OperatorTools

struct StoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Back up and check the key store, also while the gateway runs; prepare, fill and copy a fleet's.",
        subcommands: [Backup.self, Check.self, Migrate.self, Import.self, Export.self])

    struct Options: ParsableArguments {
        @OptionGroup var settings: SettingsOptions

        @Option(help: "The store's file; without it the store of ATTESTED_KEYS_PATH or STORE_URL.")
        var store: String?

        var administration: StoreAdministration {
            get throws { StoreAdministration(try Console.storeLocation(store, settings)) }
        }
    }

    struct Backup: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Copy the store's file into another, which is checked before it gets its name.",
            discussion: """
                The copy contains secret keys, as the store does. Only its owner can read it: keep it so. The database of STORE_URL is backed up with \
                PostgreSQL's own tools: `portcullis store check` names them.
                """)

        @OptionGroup var options: Options

        @Argument(help: "The copy.")
        var file: String

        @Flag(help: "Replace the file if it exists.")
        var force = false

        func run() throws {
            let store = try options.administration
            do throws(OperatorError) {
                Console.say(try store.backUp(to: file, replacing: force))
            } catch {
                throw Console.failure("\(error)", hint: error.hint)
            }
        }
    }

    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check the store and every record in it. Ends with 1 if something has to be done.",
            discussion: "Of a file it checks the disk, too; of a database the connection, the server and the schema.")

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
