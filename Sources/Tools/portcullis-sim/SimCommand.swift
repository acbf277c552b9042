import ArgumentParser

@main
struct SimCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "portcullis-sim",
        abstract:
            """
            Stand-ins to try the gateway with: a small MUD, a device, a player with passkeys, a root in Apple's place, a load, an attack, a benchmark, a watch \
            on memory.
            """,
        subcommands: [
            MudCommand.self, AuthorityCommand.self, DeviceCommand.self, AccountCommand.self, PasskeyCommand.self,
            EchoCommand.self, LoadCommand.self, AttackCommand.self, HellosCommand.self, TextsCommand.self,
            AttackTableCommand.self, BenchCommand.self, WatchCommand.self,
        ])
}
