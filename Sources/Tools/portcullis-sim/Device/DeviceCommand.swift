import AppAttest
import ArgumentParser
import Crypto
import DeviceSimulation
import Foundation
import Logging
import Reactors

struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device", abstract: "Simulates a device with an app.",
        subcommands: [Register.self, Connect.self, Token.self, Request.self, Signed.self, Race.self])

    /// The options that select the gateway.
    struct GatewayOptions: ParsableArguments {
        @Option(help: "The gateway's URL.")
        var gateway = "https://localhost:6200"

        @Option(help: "A CA to trust for the gateway's certificate (PEM).")
        var ca: String?

        func url() throws -> WebURL {
            guard let url = WebURL(gateway) else {
                throw SimOutput.failure("--gateway takes a URL like https://localhost:6200.")
            }
            return url
        }

        func settings() throws -> EdgeClientSettings {
            var settings = try url().settings
            settings.caPath = try ReadableFile.check(ca, of: "--ca")
            return settings
        }

        func requests(on reactor: Reactor) throws -> HTTPRequests {
            HTTPRequests(on: reactor, caPath: try ReadableFile.check(ca, of: "--ca"))
        }
    }

    struct Register: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a key, have the simulated authority attest it, and register it.")

        @OptionGroup var gateway: GatewayOptions

        @Option(help: "The authority's file (see `portcullis-sim authority`).")
        var authority: String

        @Option(help: "Where the device is kept, private key included; an existing one registers again.")
        var device: String

        @Option(help: "Apple developer team.")
        var team = "ABCDE12345"

        @Option(help: "Bundle identifier.")
        var bundle = "com.example.mud"

        func run() async throws {
            let authority = try StateFile.authority(authority)
            let file = try DeviceFile.keptOrNew(at: device, team: team, bundle: bundle)
            let reactor = Reactor(index: 0, logger: Logger(label: "device"))
            try reactor.start()
            let client = try GatewayClient(on: reactor, options: gateway)
            let nonce = try await client.challenge()
            let attestation = try file.device.attest(
                clientDataHash: try ClientData.hash(ofNonce: nonce), by: authority, at: .now)
            try file.save()
            try await client.register(keyID: file.device.keyIDText, attestation: attestation, nonce: nonce)
            SimOutput.say("portcullis-sim: registered key \(file.device.keyIDText) for \(file.device.app)")
        }
    }
}

enum ClientData {
    /// SHA-256 over the nonce's bytes: the value that the guide's client passes to Apple's API.
    static func hash(ofNonce nonce: String) throws -> [UInt8] {
        let digits = Array(nonce.utf8)
        let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap { index in
            UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16)
        }
        guard digits.count.isMultiple(of: 2), bytes.count == digits.count / 2, !bytes.isEmpty else {
            throw SimOutput.failure("the gateway's challenge is not hexadecimal.")
        }
        return Array(SHA256.hash(data: bytes))
    }
}

extension SimulatedDevice {
    var keyIDText: String { Data(keyID).base64EncodedString() }
}
