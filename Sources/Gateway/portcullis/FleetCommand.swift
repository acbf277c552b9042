import ArgumentParser
import GatewayServer
import OperatorTools

struct FleetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet", abstract: "Look at the gateways that share the database of STORE_URL.",
        subcommands: [Status.self])

    struct Status: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the gateways, their sessions and heartbeats, and the database.",
            discussion: """
                A gateway without a heartbeat for 5 s is dead, and forgotten after 10 minutes. LAG is the time since it heard of the database's changes.

                Ends with 0 if all is well; with 2 if a gateway is dead or behind, none serves, or the database is a standby; with 1 if the database \
                can't be asked; with 78 if the settings are wrong.
                """)

        @OptionGroup var settings: SettingsOptions

        @Flag(help: "Print one JSON object.")
        var json = false

        private static let attention: Int32 = 2

        func run() throws {
            let store = try Console.fleetStore(settings)
            do throws(OperatorError) {
                let status = try FleetStoreAdministration(store).status()
                Console.say(json ? status.json : status.text)
                if status.isGood { return }
            } catch {
                throw Console.failure("\(error)", hint: error.hint)
            }
            throw ExitCode(Self.attention)
        }
    }
}
