import ArgumentParser
import GatewayServer

@main
struct PortcullisCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "portcullis",
        abstract: "A gateway that lets proven apps through to a MUD, and nobody else.",
        version: Gateway.version,
        subcommands: [
            ServeCommand.self, CheckConfigCommand.self, SettingsCommand.self, KeysCommand.self,
            SigningKeysCommand.self, DevTokensCommand.self, TicketCommand.self, ReloadCommand.self,
        ],
        defaultSubcommand: ServeCommand.self)
}

/// The source of the settings: the environment, which overrides an optional environment file.
struct SettingsOptions: ParsableArguments {
    @Option(name: .customLong("env-file"), help: "Settings, one NAME=value a line; the environment goes before it.")
    var environmentFile: String?
}
