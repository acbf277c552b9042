import ArgumentParser
import Crypto
import Foundation
import PortcullisClient

extension AccountCommand {
    struct State: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show whether the player is signed in by the stored refresh token.",
            discussion: "It asks no server. The token is stored by commands with --pin.")

        @OptionGroup var player: AccountOptions

        func run() async throws {
            switch try await player.player().use({ try await $0.authenticationState() }) {
            case .authenticated: SimOutput.say("authenticated")
            case .needsSignIn(let reason): SimOutput.say("needs sign-in: \(reason.rawValue)")
            }
        }
    }

    struct LogOut: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End the sign-in of the stored refresh token, or of all of the account.")

        @OptionGroup var player: AccountOptions

        @Flag(help: "End all sign-ins of the account.")
        var everywhere = false

        func run() async throws {
            try await player.player().signedIn { try await $0.logOut(everywhere: everywhere) }
            SimOutput.say("portcullis-sim: logged out")
        }
    }
}

/// A wrapping key in the authenticator's file, where a phone has it in its hardware.
struct SimulatedUnlock: LocalUnlock {
    let pin: String

    func makeKey() async throws -> Data { SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) } }

    func secret(of restoration: Data, salt: Data) async throws -> Data {
        Data(HMAC<SHA256>.authenticationCode(for: salt, using: SymmetricKey(data: restoration)))
    }

    func pin(attemptsLeft: Int?) async throws -> String? { pin }
}
