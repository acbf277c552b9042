import ArgumentParser
import Foundation
import PortcullisClient

struct AccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account",
        abstract: "Simulates a player with passkeys: with the client library and a virtual authenticator.",
        subcommands: [
            SignUp.self, SignIn.self, AddPasskey.self, Join.self, Devices.self, Remove.self, Recover.self,
            Connect.self, State.self, LogOut.self,
        ])

    struct SignUp: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a passkey and an account with it.",
            discussion: "The proof is the device of --device, --dev-token, --ticket, or nothing with --open.")

        @OptionGroup var player: AccountOptions

        @Option(parsing: .unconditional, help: "An operator's ticket, as proof.")
        var ticket: String?

        @Flag(help: "Without proof, where ACCOUNT_SIGN_UP=open.")
        var open = false

        @Option(help: "What the player calls the passkey.")
        var label = ""

        func validate() throws {
            guard ticket == nil || !open else { throw ValidationError("--ticket or --open, not both.") }
        }

        func run() async throws {
            let proof = ticket.map { AccountProof.ticket($0) } ?? (open ? .nothing : .device)
            try await player.player().make { try await $0.signUp(by: proof, label: label) }
        }
    }

    struct Recover: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add a new passkey to an account, with an operator's ticket for it.")

        @OptionGroup var player: AccountOptions

        @Option(parsing: .unconditional, help: "Of portcullis ticket --account.")
        var ticket: String

        @Option(help: "What the player calls the passkey.")
        var label = ""

        func run() async throws {
            try await player.player().make { try await $0.recover(ticket: ticket, label: label) }
        }
    }

    struct SignIn: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sign in, and print the access token.",
            discussion: "It can't be used without proofs by the key in the device's or the authenticator's file.")

        @OptionGroup var player: AccountOptions

        @Flag(help: "By the device of --device, which has joined, instead of a passkey.")
        var byDevice = false

        func validate() throws {
            guard !byDevice || player.device != nil else { throw ValidationError("--device is missing.") }
        }

        func run() async throws {
            let headers = try await player.player().use {
                if byDevice { try await $0.signInWithDevice() } else { try await $0.signIn() }
                return try await $0.tokens.authorizationHeaders(for: "/", method: .get)
            }
            let token = headers["Authorization"].map { $0.drop { $0 != " " }.dropFirst() } ?? ""
            SimOutput.say(String(token))
        }
    }

    struct AddPasskey: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add a further passkey to the account, in another authenticator.")

        @OptionGroup var player: AccountOptions

        @Option(help: "The file of the authenticator that makes it; made if it isn't there.")
        var into: String

        @Option(help: "What the player calls it.")
        var label = ""

        func validate() throws {
            guard into != player.authenticator else { throw ValidationError("--into is another --authenticator.") }
        }

        func run() async throws {
            let other = try AccountFile(at: into)
            let made = try await player.player(makingIn: other).signedIn { accounts in
                do { return try await accounts.addPasskey(label: label) } catch {
                    try other.forgetMade()
                    throw error
                }
            }
            SimOutput.say("account \(made.account)\npasskey \(made.passkey)")
        }
    }

    struct Join: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Join the device to the account.")

        @OptionGroup var player: AccountOptions

        @Option(help: "What the player calls the device.")
        var label = ""

        func validate() throws {
            guard player.device != nil else { throw ValidationError("--device is missing.") }
        }

        func run() async throws {
            let device = try await player.player().signedIn { try await $0.joinDevice(label: label) }
            SimOutput.say("device \(device)")
        }
    }

    struct Devices: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show the account with its passkeys and devices.")

        @OptionGroup var player: AccountOptions

        func run() async throws {
            let account = try await player.player().signedIn { try await $0.account() }
            SimOutput.say("account \(account.id)")
            for passkey in account.passkeys {
                SimOutput.say("passkey \(passkey.id) \(Self.words(passkey.madeAt, passkey.label))")
            }
            for device in account.devices {
                SimOutput.say("device \(device.id) \(Self.words(device.joinedAt, device.label))")
            }
        }

        /// A label is the player's own words: nothing in it reaches the terminal unescaped.
        static func words(_ time: Date, _ label: String) -> String {
            "\(time.formatted(.iso8601)) \(String(reflecting: label))"
        }
    }
}
