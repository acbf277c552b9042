import ArgumentParser
import DeviceSimulation
import Foundation
import Logging
import Reactors

extension DeviceCommand {
    struct Connect: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Open a WebSocket through the gate and play; the transcript goes to standard output.",
            discussion:
                """
                Lines come from --send, or else from standard input. Each is sent when the MUD has fallen quiet.
                It ends with 0 when it or the gateway has closed in order (1000, 1001), and otherwise with 1.
                """)

        @OptionGroup var gateway: GatewayOptions

        @Option(help: "A registered device's file: connect by App Attest.")
        var device: String?

        @Flag(help: "With --device: connect with an access token and a proof.")
        var token = false

        @OptionGroup var tokens: TokenOptions

        @Option(help: "A client certificate (PEM): connect as a debug client.")
        var certificate: String?

        @Option(help: "The certificate's private key (PEM).")
        var key: String?

        @Option(help: "A line to send; may be given several times.")
        var send: [String] = []

        func validate() throws {
            guard (certificate == nil) == (key == nil) else {
                throw ValidationError("--certificate and --key go together.")
            }
            guard !token || device != nil else { throw ValidationError("--token needs --device.") }
            guard token || !tokens.areGiven else {
                throw ValidationError("--authority, --dev-token, --team and --bundle are for --token.")
            }
        }

        func run() async throws {
            let reactor = Reactor(index: 0, logger: Logger(label: "device"))
            try reactor.start()
            var settings = try gateway.settings()
            settings.certificatePath = try ReadableFile.check(certificate, of: "--certificate")
            settings.privateKeyPath = try ReadableFile.check(key, of: "--key")
            settings.subprotocols = ["telnet"]
            try await play(on: reactor, settings).check(gateway)
        }

        private func play(on reactor: Reactor, _ settings: EdgeClientSettings) async throws -> Play.Outcome {
            let lines = send.isEmpty ? nil : send
            guard token, let device, let url = try gateway.url().appending(settings.path) else {
                let headers = try await assertionHeaders(reactor)
                return await Play.run(on: reactor, settings: settings, headers: headers, lines: lines)
            }
            return try await tokens.client(device: device, gateway, on: reactor)
                .play(on: reactor, url, settings: settings, lines: lines)
        }

        /// A fresh challenge and an assertion over it; empty without a device.
        private func assertionHeaders(_ reactor: Reactor) async throws -> [(name: String, value: String)] {
            guard let path = device else { return [] }
            guard var file = try DeviceFile.kept(at: path) else {
                throw SimOutput.failure("\(path) is not there.", hint: "make it with portcullis-sim device register.")
            }
            let nonce = try await GatewayClient(on: reactor, options: gateway).challenge()
            let assertion = try file.assert(clientDataHash: try ClientData.hash(ofNonce: nonce))
            return [
                ("X-App-Assert-KeyId", file.device.keyIDText),
                ("X-App-Assert-Data", Data(assertion).base64EncodedString()),
                ("X-App-Assert-Nonce", nonce),
            ]
        }
    }
}

extension Play.Outcome {
    /// - Throws: an `ExitCode`, after the reason was reported, unless the session ended in order.
    func check(_ gateway: DeviceCommand.GatewayOptions) throws {
        switch self {
        case .played: return
        case .broken(code: nil): throw SimOutput.failure("the connection broke: no close code came.")
        case .broken(code: let code?): throw SimOutput.failure("the session ended with the close code \(code).")
        case .refused(let failure): throw try gateway.failure(of: failure)
        }
    }
}
