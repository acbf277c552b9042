import ArgumentParser
import GatewayServer

struct CopyoverCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upgrade", abstract: "Replace the running gateway by a new process, without ending sessions.",
        discussion: """
            The gateway starts its program again, with its own arguments and environment, and hands it the listening sockets and all sessions \
            that can be resumed. Their clients are closed with 1012 and find their sessions in the new process. Other sessions stay with the \
            old process until they end, or COPYOVER_STAY_MINUTES are over. If the new process doesn't become ready, nothing changes, and the \
            command ends with 1. SIGUSR2 does the same without an answer.
            """)

    @OptionGroup var settings: SettingsOptions

    @Option(help: "The control socket; without it that of CONTROL_SOCKET_PATH.")
    var socket: String?

    @Option(help: "The new program's path, absolute; without it the path that the running one was started from.")
    var program: String?

    func validate() throws {
        guard program?.hasPrefix("/") != false else { throw ValidationError("--program needs an absolute path.") }
    }

    func run() throws {
        let path = try Console.controlSocket(socket, settings)
        let answer = ControlClient(path: path).ask(.upgrade(program: program), secondsToWait: Self.secondsToWait)
        switch answer {
        case nil: throw Console.noGateway(on: path)
        case .upgraded(let report): say(report)
        case .refused(let reason): throw Console.failure("nothing has changed: \(reason)")
        default: throw Console.failure("the gateway answered something else")
        }
    }

    /// Longer than the sum of the gateway's own limits may be.
    private static let secondsToWait = 900

    private func say(_ report: CopyoverReport) {
        Console.say(
            "process \(report.processID) (\(report.version)) serves since now, \(report.milliseconds) ms after the command"
        )
        Console.say("\(report.moved) sessions went to it")
        guard report.staying > 0 else { return Console.say("no session stays with the old process") }
        Console.say(
            "\(report.staying) sessions stay with the old process (\(report.formerID)), for \(report.stayMinutes) minutes at most: their dialect"
                + " can't be resumed, or their target has TLS")
    }
}
