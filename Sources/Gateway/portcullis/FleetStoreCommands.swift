import ArgumentParser
import GatewayServer
import OperatorTools

extension StoreCommand {
    /// The database of a fleet, which the settings name.
    struct FleetOptions: ParsableArguments {
        @OptionGroup var settings: SettingsOptions

        func administer(
            _ body: (FleetStoreAdministration) throws(OperatorError) -> String
        ) throws {
            let store = try Console.fleetStore(settings)
            do throws(OperatorError) {
                Console.say(try body(try FleetStoreAdministration(store)))
            } catch {
                throw Console.failure("\(error)", hint: error.hint)
            }
        }
    }

    struct Migrate: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create or upgrade the tables in the database of STORE_URL.",
            discussion: """
                Each step is one transaction. Upgrade the tables first, and then the gateways one after the other: a step says which older \
                programs can go on. The database itself, and a role that may create a schema in it, have to exist.
                """)

        @OptionGroup var options: FleetOptions

        func run() throws {
            try options.administer { (store) throws(OperatorError) in try store.migrate() }
        }
    }

    struct Import: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Copy all that an SQLite store has into the database of STORE_URL.",
            discussion: """
                What the database has already is completed: no counter falls, and no revocation is lifted. Stop the gateway that uses the file first; \
                what it wrote later can be copied by the same command again.
                """)

        @OptionGroup var options: FleetOptions

        @Argument(help: "The SQLite file.")
        var file: String

        func run() throws {
            try options.administer { (store) throws(OperatorError) in
                try store.importFile(file) { Console.complain("portcullis: \($0) keys") }
            }
        }
    }

    struct Export: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Copy all that the database of STORE_URL has into a new SQLite store.",
            discussion: """
                The file has the database's state of one moment, and secret keys that aren't encrypted. Only its owner can read it: keep it so.
                """)

        @OptionGroup var options: FleetOptions

        @Argument(help: "The SQLite file, which must not exist.")
        var file: String

        func run() throws {
            try options.administer { (store) throws(OperatorError) in
                try store.exportFile(file) { Console.complain("portcullis: \($0) keys") }
            }
        }
    }
}
