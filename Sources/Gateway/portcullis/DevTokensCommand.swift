import ArgumentParser
import FoundationEssentials
import GatewayServer
import OperatorTools

struct DevTokensCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dev-tokens",
        abstract: "Administer development tokens, which replace an attestation, also while the gateway runs.",
        discussion: """
            Simulators and automated tests can't attest themselves. A development token lets them have access tokens, which say so. The \
            gateway accepts development tokens only if ALLOW_DEV_TOKENS is true.
            """,
        subcommands: [Issue.self, List.self, Revoke.self])

    /// The key store: the file of `--store`, or the store of the settings.
    struct Options: ParsableArguments {
        @OptionGroup var settings: SettingsOptions

        @Option(help: "The store's file; without it the store of ATTESTED_KEYS_PATH or STORE_URL.")
        var store: String?

        /// Runs `body` on the store; an error is printed and ends the command.
        ///
        /// - Parameter mayBeMissing: whether a missing store is accepted; it is reported in either case.
        func administer(
            mayBeMissing: Bool = false,
            _ body: (DevelopmentTokenAdministration) async throws(OperatorError) -> Void
        ) async throws {
            let location = try Console.storeLocation(store, settings)
            do throws(OperatorError) {
                try await body(try DevelopmentTokenAdministration(location))
            } catch {
                if mayBeMissing, error.isMissingStore { return Console.complain("portcullis: \(error)") }
                throw Console.failure("\(error)", hint: error.hint)
            }
        }
    }

    struct Issue: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Issue a token and print it. It can't be shown again: the store has only its hash.",
            discussion: "The token is on standard output, its identifier on standard error.")

        @OptionGroup var options: Options

        @Option(help: "Its purpose, shown in the audit log and by `list`.")
        var name: String

        @Option(help: "How many days it can be used, at most 365.")
        var days = 30

        @Option(help: "How many device keys may use it, at most 1000. A simulator that is erased has a new key.")
        var devices = 10

        @Option(name: .customLong("route"), help: "A route that it is for; can be repeated. Without it, all routes.")
        var routes: [String] = []

        func run() async throws {
            try await options.administer { (tokens) async throws(OperatorError) in
                let issued = try await tokens.issue(
                    name: name, routes: routes, days: days, devices: devices, at: .now)
                Console.say(issued.token)
                Console.complain("portcullis: development token \(issued.id), for \(days) days")
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List all tokens, one a line, also those that ended in the last 90 days.")

        @OptionGroup var options: Options

        @Flag(help: "One JSON object a line.")
        var json = false

        func run() async throws {
            try await options.administer(mayBeMissing: true) {
                (tokens) async throws(OperatorError) in
                // On standard error, so that a pipe stays empty.
                if try await tokens.list(at: .now, json: json, Console.say) == 0 {
                    Console.complain("portcullis: there are no development tokens")
                }
            }
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Refuse a token from now on, with the access tokens that it has opened. Their sessions are closed.")

        @OptionGroup var options: Options

        @Argument(help: "The token's identifier, as `list` shows it.")
        var id: String

        func run() async throws {
            let gateway = try Console.runningGateway(options.settings, besides: options.store)
            try await options.administer { (tokens) async throws(OperatorError) in
                try await tokens.revoke(id, at: .now)
            }
            Console.say("revoked \(id)")
            if let gateway, gateway.awaitNotice(ofRevokingDevelopmentToken: id) == false {
                Console.complain(
                    "portcullis: the running gateway hasn't noticed: does it use another store? See its log. Its sessions go on."
                )
            }
        }
    }
}
