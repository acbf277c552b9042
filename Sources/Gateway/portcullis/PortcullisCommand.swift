import ArgumentParser
import FoundationEssentials
import GatewayServer
import Settings

@main
struct PortcullisCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "portcullis",
        abstract: "A gateway that connects only authenticated apps to a MUD.",
        version: Gateway.version,
        subcommands: [
            ServeCommand.self, CheckConfigCommand.self, SettingsCommand.self, KeysCommand.self,
            AccountsCommand.self, StoreCommand.self, FleetCommand.self, BlockListCommand.self,
            SigningKeysCommand.self, DevTokensCommand.self, TicketCommand.self, ReloadCommand.self,
            CopyoverCommand.self, ExplainCommand.self, AuditCommand.self, SessionsCommand.self, TopCommand.self,
        ],
        defaultSubcommand: ServeCommand.self)

    static func main() async {
        DispatchLog.omitRefusedPriority()
        let arguments = Array(CommandLine.arguments.dropFirst())
        if let unknown = UnknownCommand(arguments, of: Self.self) {
            for line in unknown.lines { Console.complain(line) }
            Console.exit(64)  // EX_USAGE of sysexits(3).
        }
        await main(DashedArguments.readable(arguments))
    }
}

/// The source of the settings: the environment, which overrides an optional environment file.
struct SettingsOptions: ParsableArguments {
    @Option(
        name: .customLong("env-file"),
        help: """
            Settings, one NAME=value a line; the environment goes before it. Without it: the file of \(EnvironmentFile.variable), else \
            \(EnvironmentFile.standardPath) if it exists.
            """)
    var environmentFile: String?
}

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serve until SIGTERM or SIGINT.")

    @OptionGroup var settings: SettingsOptions

    func run() async throws {
        let takeover = try Console.sockets { () throws(SocketFault) in try Takeover.begin(Console.environment) }
        let sockets = try Console.sockets { () throws(SocketFault) in
            if let takeover { return takeover.sockets }
            return try InheritedSockets.activated(Console.environment)
        }
        let loaded = try load(takeover)
        do throws(GatewayError) {
            let gateway = try Gateway(
                loaded, from: Console.source(settings), sockets: sockets,
                member: takeover?.member, logger: loaded.configuration.makeLogger())
            await Console.exitingOnError {
                try takeover?.complete(gateway)
                try await gateway.runUntilSignalled()
            }
            // Reactor threads are detached and may hold connections past the deadline: the process ends here.
            Console.exit(0)
        } catch {
            takeover?.refuse("\(error)")
            throw Console.failure("\(error)")
        }
    }

    private func load(_ takeover: Takeover?) throws -> LoadedConfiguration {
        do {
            return try Console.load(settings, quietly: true)
        } catch {
            takeover?.refuse("its settings are wrong; its errors are in its log")
            throw error
        }
    }
}
