import AppAttest
import ArgumentParser
import Crypto
import DeviceSimulation
import Foundation
import Logging
import Reactors

struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device", abstract: "A device with an app on it, as far as the gateway can tell.",
        subcommands: [Register.self, Connect.self])

    /// The options that select the gateway.
    struct GatewayOptions: ParsableArguments {
        @Option(help: "The gateway's URL.")
        var gateway = "https://localhost:6200"

        @Option(help: "A CA to trust for the gateway's certificate (PEM).")
        var ca: String?

        func settings() throws -> EdgeClientSettings {
            guard let url = URL(string: gateway), let host = url.host, ["http", "https"].contains(url.scheme ?? "")
            else {
                throw SimOutput.failure("--gateway takes a URL like https://localhost:6200.")
            }
            let isTLS = url.scheme == "https"
            var settings = EdgeClientSettings(
                host: host, port: UInt16(clamping: url.port ?? (isTLS ? 443 : 80)), isTLS: isTLS)
            settings.caPath = try ReadableFile.check(ca, of: "--ca")
            return settings
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
            let authority = try savedAuthority()
            let device = try keptOrNewDevice()
            let reactor = Reactor(index: 0, logger: Logger(label: "device"))
            try reactor.start()
            let client = try GatewayClient(on: reactor, options: gateway)
            let nonce = try await client.challenge()
            let attestation = try device.attest(
                clientDataHash: try ClientData.hash(ofNonce: nonce), by: authority, at: .now)
            try StateFile.write(device.saved, self.device)
            try await client.register(keyID: device.keyIDText, attestation: attestation, nonce: nonce)
            SimOutput.say("portcullis-sim: registered key \(device.keyIDText) for \(device.app)")
        }

        private func savedAuthority() throws -> SimulatedAuthority {
            guard let saved = try StateFile.read(SimulatedAuthority.Saved.self, authority) else {
                throw SimOutput.failure("\(authority) is not there.", hint: "make it with portcullis-sim authority.")
            }
            return try SimulatedAuthority(restoring: saved)
        }

        private func keptOrNewDevice() throws -> SimulatedDevice {
            if let saved = try StateFile.read(SimulatedDevice.Saved.self, device) {
                return try SimulatedDevice(restoring: saved)
            }
            guard let app = AppID(teamID: team, bundleID: bundle) else {
                throw SimOutput.failure("--team takes 10 capital letters and digits, --bundle an app's identifier.")
            }
            return SimulatedDevice(app: app)
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
