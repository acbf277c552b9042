import ArgumentParser
import GatewayServer

struct ReloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload", abstract: "Have the running gateway read its settings and their files again.",
        discussion: """
            The gateway reads its own environment and --env-file, not this command's. It prints one line for each change. \
            If anything is wrong, nothing changes: all errors are printed, and the command ends with 1.
            """)

    @OptionGroup var settings: SettingsOptions

    @Option(help: "The control socket; without it that of CONTROL_SOCKET_PATH.")
    var socket: String?

    func run() throws {
        let path = try Console.controlSocket(socket, settings)
        guard let answer = ControlClient(path: path).ask(.reload, secondsToWait: 60) else {
            throw Console.noGateway(on: path)
        }
        switch answer {
        case .reloaded(let changed, let needingRestart):
            if changed.isEmpty && needingRestart.isEmpty { Console.say("nothing has changed") }
            for line in changed { Console.say("\(line)") }
            for line in needingRestart { Console.say("\(line) (with a restart only)") }
        case .notReloaded(let errors):
            for error in errors { Console.complain("portcullis: error: \(error)") }
            throw Console.failure("the gateway keeps its old settings")
        case .refused(let reason): throw Console.failure(reason)
        default: throw Console.failure("the gateway answered something else")
        }
    }
}
