import ArgumentParser
import GatewayServer

struct TicketCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ticket", abstract: "Ask the running gateway for a ticket that admits its bearer.",
        discussion: """
            The first line of the output is the ticket, for `?ticket=` on an upgrade. The second one, where the web client is \
            enabled, is its address with the ticket in it.
            """)

    @OptionGroup var settings: SettingsOptions

    @Option(help: "The control socket; without it that of CONTROL_SOCKET_PATH.")
    var socket: String?

    @Option(help: "How long the ticket can be used.")
    var minutes = 5

    @Option(help: "How many times it admits.")
    var uses = 1

    @Option(
        parsing: .unconditional,
        help: "The account that it proves, once, to register a passkey; it admits nobody.")
    var account: String?

    func validate() throws {
        guard (1...1_440).contains(minutes) else { throw ValidationError("--minutes is a number from 1 to 1440.") }
        guard (1...1_000).contains(uses) else { throw ValidationError("--uses is a number from 1 to 1000.") }
        guard account == nil || uses == 1 else { throw ValidationError("A ticket for an account has one use.") }
    }

    func run() throws {
        let path = try Console.controlSocket(socket, settings)
        let request: ControlRequest =
            account.map { .accountTicket(seconds: minutes * 60, account: $0) }
            ?? .ticket(seconds: minutes * 60, uses: uses)
        guard let answer = ControlClient(path: path).ask(request) else {
            throw Console.noGateway(on: path)
        }
        switch answer {
        case .ticket(let ticket, let page):
            Console.say(ticket)
            if let page { Console.say(page) }
        case .refused(let reason): throw Console.failure(reason)
        default: throw Console.failure("the gateway answered something else")
        }
    }
}
