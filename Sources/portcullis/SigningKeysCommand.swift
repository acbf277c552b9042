import ArgumentParser
import DPoP
import FoundationEssentials
import GatewayServer
import OperatorTools

struct SigningKeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "signing-keys",
        abstract: "Administer the keys that sign access tokens, also while the gateway runs.",
        subcommands: [List.self, Rotate.self, Revoke.self])

    /// The key store: the file of `--store`, or the store of the settings.
    struct Options: ParsableArguments {
        @OptionGroup var settings: SettingsOptions

        @Option(help: "The store's file; without it the store of ATTESTED_KEYS_PATH or STORE_URL.")
        var store: String?

        /// Runs `body` on the store; an error is printed and ends the command.
        func administer<Value>(
            _ body: (SigningKeyAdministration) throws(OperatorError) -> Value
        ) throws -> Value {
            let location = try Console.storeLocation(store, settings)
            let schedule = SigningKeySchedule(try Console.tokenSettings(settings))
            do throws(OperatorError) {
                return try body(try SigningKeyAdministration(location, schedule: schedule))
            } catch {
                throw Console.failure("\(error)", hint: error.hint)
            }
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List all signing keys, one a line.")

        @OptionGroup var options: Options

        @Flag(help: "One JSON object a line.")
        var json = false

        func run() throws {
            let lines = try options.administer { (keys) throws(OperatorError) in
                try keys.list(at: .now, json: json)
            }
            for line in lines { Console.say(line) }
        }
    }

    struct Rotate: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Publish a new signing key, which signs after SIGNING_KEY_PUBLISH_SECONDS. Tokens stay valid.")

        @OptionGroup var options: Options

        func run() throws {
            let key = try options.administer { (keys) throws(OperatorError) in
                try keys.rotate(at: .now)
            }
            Console.say("published \(key.id), which signs from \(key.signsFrom)")
        }
    }

    struct Revoke: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Withdraw a signing key: its tokens are refused, their sessions closed. Another key takes its place.")

        @OptionGroup var options: Options

        @Argument(help: "The key's identifier, as `list` shows it.")
        var keyID: String

        func run() throws {
            let gateway = try Console.runningGateway(options.settings, besides: options.store)
            try options.administer { (keys) throws(OperatorError) in
                try keys.revoke(keyID, at: .now)
            }
            Console.say("revoked \(keyID)")
            if let gateway, gateway.awaitNotice(ofRevokingSigningKey: keyID) == false {
                Console.complain(
                    "portcullis: the running gateway hasn't noticed: does it use another store? See its log. Its sessions go on."
                )
            }
        }
    }
}
