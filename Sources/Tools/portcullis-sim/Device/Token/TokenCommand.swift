import ArgumentParser
import DeviceSimulation
import Foundation
import Logging
import Reactors

extension DeviceCommand {
    struct Token: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Get an access token, and print it.",
            discussion: """
                The token is bound to the key in the device's file: it can't be used without that key's proofs. With --authority \
                the device registers if the gateway doesn't know it yet.
                """)

        @OptionGroup var gateway: GatewayOptions

        @Option(help: "The device's file, private keys included; made if it isn't there.")
        var device: String

        @OptionGroup var tokens: TokenOptions

        func run() async throws {
            let reactor = Reactor(index: 0, logger: Logger(label: "device"))
            try reactor.start()
            let token = try await tokens.client(device: device, gateway, on: reactor).token()
            SimOutput.say(token.text)
        }
    }

    struct Request: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send a request with an access token and a proof, and print the body of the answer.",
            discussion: """
                The token comes from --gateway; the URL may be another server's that accepts its tokens. It ends with 0 if every answer \
                was a 2xx.
                """)

        @OptionGroup var gateway: GatewayOptions

        @Argument(help: "For instance GET or POST.")
        var method: String

        @Argument(help: "For instance https://localhost:6200/authz.")
        var url: String

        @Option(help: "The device's file, private keys included; made if it isn't there.")
        var device: String

        @OptionGroup var tokens: TokenOptions

        @Option(help: "The body to send.")
        var body: String?

        @Option(help: "A header field, Name: value; may be given several times.")
        var header: [String] = []

        @Option(help: "How often to send it. All use one access token, until it is about to end.")
        var times = 1

        @Option(help: "Seconds between them; 0 sends all at once.")
        var every = 0.0

        func validate() throws {
            guard (1...10_000).contains(times), (0...86_400).contains(every) else {
                throw ValidationError("a number is out of range.")
            }
            guard header.allSatisfy({ $0.contains(":") }) else { throw ValidationError("--header takes Name: value.") }
        }

        func run() async throws {
            guard let url = WebURL(url) else { throw SimOutput.failure("\(url) is no http or https URL.") }
            let reactor = Reactor(index: 0, logger: Logger(label: "device"))
            try reactor.start()
            let client = try tokens.client(device: device, gateway, on: reactor)
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<times {
                    group.addTask {
                        if every > 0 { try await Task.sleep(for: .seconds(every * Double(number))) }
                        return try await send(url, by: client)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            guard statuses.allSatisfy({ (200..<300).contains($0) }) else { throw ExitCode.failure }
        }

        /// - Returns: the answer's status.
        private func send(_ url: WebURL, by client: TokenClient) async throws -> Int {
            let answer = try await client.send(
                method, url, headers: headers, body: body.map { Array($0.utf8) },
                streamed: { SimOutput.show(String(decoding: $0, as: UTF8.self)) })
            if !(200..<300).contains(answer.status) {
                _ = GatewayRefusal.failure(status: answer.status, body: answer.body)
            }
            return answer.status
        }

        private var headers: [(name: String, value: String)] {
            header.compactMap { text in
                guard let colon = text.firstIndex(of: ":") else { return nil }
                let value = text[text.index(after: colon)...].drop { $0 == " " }
                return (String(text[..<colon]), String(value))
            }
        }
    }
}
