import ArgumentParser
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
