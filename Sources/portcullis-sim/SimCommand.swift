import ArgumentParser

@main
struct SimCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "portcullis-sim",
        abstract: "Stand-ins to try the gateway with: a small MUD, a device, and a root in Apple's place.",
        subcommands: [MudCommand.self, AuthorityCommand.self, DeviceCommand.self])
}
