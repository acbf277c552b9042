import ArgumentParser
import DeviceSimulation
import Foundation
import Logging
import Reactors

extension DeviceCommand {
    struct Race: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send each assertion to several gateways of a fleet at once, and count who is admitted.",
            discussion: "It ends with 0 only if each assertion was admitted exactly once.")

        @OptionGroup var gateway: GatewayOptions

        @Option(help: "A registered device's file.")
        var device: String

        @Option(help: "A gateway's URL; several times.")
        var to: [String] = []

        @Option(help: "How many assertions.")
        var rounds = 100

        func validate() throws {
            guard to.count > 1 else { throw ValidationError("--to is given at least twice.") }
            guard (1...1_000_000).contains(rounds) else { throw ValidationError("--rounds is from 1 to 1000000.") }
        }

        func run() async throws {
            guard var file = try DeviceFile.kept(at: device) else {
                throw SimOutput.failure("\(device) is not there.", hint: "make it with portcullis-sim device register.")
            }
            let reactor = Reactor(index: 0, logger: Logger(label: "race"))
            try reactor.start()
            let issuer = try GatewayClient(on: reactor, options: gateway)
            var racers: [Racer] = []
            for url in to { racers.append(try await Racer.make(try settings(of: url), on: reactor)) }
            var admissions: [Int: Int] = [:]
            for _ in 0..<rounds {
                let nonce = try await issuer.challenge()
                let assertion = try file.assert(clientDataHash: try ClientData.hash(ofNonce: nonce))
                let headers = [
                    ("X-App-Assert-KeyId", file.device.keyIDText),
                    ("X-App-Assert-Data", Data(assertion).base64EncodedString()), ("X-App-Assert-Nonce", nonce),
                ]
                let admitted = await withTaskGroup { group in
                    for racer in racers { group.addTask { await racer.isAdmitted(headers) } }
                    return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                admissions[admitted, default: 0] += 1
            }
            try report(admissions)
        }

        private func settings(of text: String) throws -> EdgeClientSettings {
            guard let url = WebURL(text) else {
                throw SimOutput.failure("--to takes a URL like https://localhost:6200.")
            }
            var settings = url.settings
            settings.caPath = try ReadableFile.check(gateway.ca, of: "--ca")
            return settings
        }

        private func report(_ admissions: [Int: Int]) throws {
            let doubled = admissions.reduce(0) { $0 + ($1.key > 1 ? $1.value : 0) }
            SimOutput.say(
                "portcullis-sim: \(rounds) assertions, each at \(to.count) gateways: \(admissions[1] ?? 0) admitted once,"
                    + " \(doubled) more than once, \(admissions[0] ?? 0) never")
            guard admissions[1] == rounds else { throw ExitCode.failure }
        }
    }
}

/// Connects to one gateway, and leaves as soon as it is admitted.
private struct Racer: Sendable {
    private let client: Pinned<EdgeClient>

    static func make(_ settings: EdgeClientSettings, on reactor: Reactor) async throws -> Racer {
        let client = await withCheckedContinuation { continuation in
            reactor.submit {
                continuation.resume(
                    returning: Result { () throws(ReactorError) in
                        Pinned(try EdgeClient(on: reactor, settings: settings), to: reactor)
                    })
            }
        }
        return Racer(client: try client.get())
    }

    func isAdmitted(_ headers: [(String, String)]) async -> Bool {
        await withCheckedContinuation { continuation in
            client.reactor.submit { [client] in
                let attempt = RaceAttempt { continuation.resume(returning: $0) }
                client.value.connect(headers: headers.map { (name: $0.0, value: $0.1) }, handler: attempt) { _ in
                    attempt.webSocketClosed()
                }
            }
        }
    }
}

/// Reactor thread only.
private final class RaceAttempt: ClientWebSocketHandler {
    private var done: ((Bool) -> Void)?
    private var wasAdmitted = false

    init(done: @escaping (Bool) -> Void) { self.done = done }

    func webSocketOpened(_ webSocket: ClientWebSocket) {
        wasAdmitted = true
        webSocket.close(code: 1000, reason: "")
    }

    func webSocketReceived(_ piece: MessagePiece) {}
    func webSocketPeerClosed(code: UInt16?) {}
    func webSocketHeardPong() {}
    func webSocketWrote() {}

    func webSocketClosed() {
        let done = done
        self.done = nil
        done?(wasAdmitted)
    }
}
