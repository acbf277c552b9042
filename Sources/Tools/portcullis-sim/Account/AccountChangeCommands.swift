import ArgumentParser
import DeviceSimulation
import Foundation
import PortcullisClient
import Reactors

extension AccountCommand {
    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a passkey, a device, or the whole account.",
            discussion: "Each needs a passkey of the account, which may be the one that is removed.")

        @OptionGroup var player: AccountOptions

        @Option(parsing: .unconditional, help: "The identifier of a passkey.")
        var passkey: String?

        @Option(parsing: .unconditional, help: "The identifier of a device.")
        var deviceKey: String?

        @Flag(help: "The account with everything in it.")
        var account = false

        func validate() throws {
            guard [passkey != nil, deviceKey != nil, account].count(where: { $0 }) == 1 else {
                throw ValidationError("one of --passkey, --device-key and --account is given.")
            }
        }

        func run() async throws {
            let player = try player.player()
            try await player.signedIn { accounts in
                if let passkey {
                    try await accounts.removePasskey(passkey)
                    if let id = Data(base64URL: passkey) { try player.file.forget(Array(id)) }
                } else if let deviceKey {
                    try await accounts.removeDevice(deviceKey)
                } else {
                    try await accounts.removeAccount()
                }
            }
            SimOutput.say("portcullis-sim: removed")
        }
    }

    struct Connect: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sign in and play; the transcript goes to standard output.",
            discussion: "Lines and the exit status are as for portcullis-sim device connect.")

        @OptionGroup var player: AccountOptions

        @Option(help: "A line to send; may be given several times.")
        var send: [String] = []

        func run() async throws {
            let player = try player.player()
            var settings = try self.player.gateway.settings()
            settings.subprotocols = ["telnet"]
            let headers = try await player.signedIn {
                try await $0.tokens.authorizationHeaders(for: "/", method: .get)
            }
            let outcome = await Play.run(
                on: player.reactor, settings: settings, headers: headers.map { (name: $0.key, value: $0.value) },
                lines: send.isEmpty ? nil : send)
            try outcome.check(self.player.gateway)
        }
    }
}
