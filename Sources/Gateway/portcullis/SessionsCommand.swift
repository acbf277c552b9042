import ArgumentParser
import GatewayServer
import OperatorTools

struct SessionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions", abstract: "List, show and close the running gateway's sessions.",
        subcommands: [List.self, Show.self, Close.self])

    /// The gateway, by its control socket.
    struct Gateway: ParsableArguments {
        @OptionGroup var settings: SettingsOptions

        @Option(help: "The control socket; without it that of CONTROL_SOCKET_PATH.")
        var socket: String?

        /// Runs `body` with the gateway; an error is printed and ends the command.
        func ask<Result>(_ body: (SessionTool) throws(SessionToolError) -> Result) throws -> Result {
            let path = try Console.controlSocket(socket, settings)
            do throws(SessionToolError) {
                return try body(SessionTool(path: path))
            } catch {
                switch error {
                case .noGateway: throw Console.noGateway(on: path)
                case .noSession:
                    throw Console.failure(
                        "no such session", hint: "It may have ended, or its client has come back by another request.")
                case .refused(let reason): throw Console.failure(reason)
                case .otherAnswer: throw Console.failure("the gateway answered something else")
                }
            }
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List sessions, one a line.")

        @OptionGroup var gateway: Gateway
        @Option(help: "Only those on this route.") var route: String?
        @Option(help: "Only those of this client, by its whole subject.") var subject: String?
        @Option(help: "Only those from this address or range.") var address: String?
        @Option(help: "By age, bytes or idle.") var order = "age"
        @Option(help: "At most so many.") var limit = 1_000
        @Flag(help: "One JSON object a line. Times are milliseconds.") var json = false

        func validate() throws {
            guard SessionArguments.orders.contains(order) else {
                throw ValidationError("--order is one of " + SessionArguments.orders.joined(separator: ", ") + ".")
            }
            guard (1...1_000_000).contains(limit) else {
                throw ValidationError("--limit is a number from 1 to 1000000.")
            }
        }

        func run() throws {
            let arguments = SessionArguments(route: route, subject: subject, address: address)
            let (shown, matching) = try gateway.ask { tool throws(SessionToolError) in
                try arguments.list(with: tool, order: order, limit: limit, json: json, Console.say)
            }
            // On standard error, so that a pipe has sessions alone.
            if shown < matching || shown == 0 { Console.complain("portcullis: \(shown) of \(matching) sessions") }
        }
    }

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show all that is known of a session.")

        @OptionGroup var gateway: Gateway
        @Argument(help: "The session's id, as in the list and in the log.") var id: String
        @Flag(help: "One JSON object. Times are milliseconds.") var json = false

        func run() throws {
            Console.say(
                try gateway.ask { tool throws(SessionToolError) in
                    try SessionArguments.show(id, with: tool, json: json)
                })
        }
    }

    struct Close: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Close a session, or all of one client, with 1008 closed_by_operator.",
            discussion: "The client may connect again: revoke its key or block it, if it isn't to.")

        @OptionGroup var gateway: Gateway
        @Argument(help: "The session's id.") var id: String?
        @Option(help: "All sessions of this client, by its whole subject.") var subject: String?
        @Option(help: "All sessions from this address or range.") var address: String?
        @Option(help: "Why, for the audit log.") var reason = ""

        func validate() throws {
            guard (id != nil) != (subject != nil || address != nil) else {
                throw ValidationError("Name a session, or a client with --subject or --address.")
            }
        }

        func run() throws {
            let arguments = SessionArguments(subject: subject, address: address)
            let count = try gateway.ask { tool throws(SessionToolError) in
                try arguments.close(id, with: tool, reason: reason)
            }
            guard count > 0 else { throw Console.failure("no such session") }
            Console.say("closed \(count) session\(count == 1 ? "" : "s")")
        }
    }
}
