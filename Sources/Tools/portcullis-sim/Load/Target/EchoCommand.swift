import ArgumentParser
import Logging
import Reactors
import Synchronization

struct EchoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "echo", abstract: "A TCP target for `portcullis-sim load`: sends back what it gets.")

    @Option(help: "The numeric address to listen on.")
    var host = "127.0.0.1"

    @Option(help: "The port; 0 takes a free one.")
    var port: UInt16 = 4000

    @Option(help: "Reactors; connections are spread over them.")
    var threads = 1

    @Flag(help: "Send numbered lines in place of an echo: gaps and doubles show by their content.")
    var numbered = false

    @Flag(help: "Answer each line with a screen of 256 to 4,096 bytes.")
    var screens = false

    @Option(help: "Send telnet without end: \(TargetFlood.allCases.map(\.rawValue).joined(separator: ", ")).")
    var flood: TargetFlood?

    @Option(help: "Numbered lines a second and connection.")
    var rate = 10.0

    @Option(help: "Number of them to send at once.")
    var burst = 1

    func validate() throws {
        guard !(numbered && screens) else { throw ValidationError("--numbered or --screens, not both.") }
        guard (1...256).contains(threads), (0.001...100_000).contains(rate), (1...1_000).contains(burst)
        else {
            throw ValidationError("a number is out of range.")
        }
    }

    func run() async throws {
        let answer: ClientStream.Answer = numbered ? .numbered : screens ? .screens : .echo
        var bound = port
        for thread in 0..<threads {
            let reactor = Reactor(index: thread, logger: Logger(label: "echo"))
            try reactor.start()
            let socket = try SimOutput.listeningSocket(host: host, port: bound, isFirst: thread == 0)
            bound = socket.port
            let waiting = ListeningBox(socket)
            reactor.submit { [flood, burst, interval = UInt64(1e9 * Double(burst) / rate)] in
                guard let socket = waiting.take() else { return }
                _ = TCPListener(socket, on: reactor) { socket, _ in
                    EchoConnection.serve(
                        socket, on: reactor, answer: answer, lines: (atOnce: burst, interval: interval), flood: flood)
                }
            }
        }
        SimOutput.say("portcullis-sim: the target listens on \(host):\(bound)")
        await SimOutput.untilKilled()
    }
}
