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
        ///
        /// - Parameter lead: seconds for which a new key is published before it signs; nil: a day.
        func administer<Value>(
            lead: Int? = nil, _ body: (SigningKeyAdministration) throws(OperatorError) -> Value
        ) throws -> Value {
            let location = try Console.storeLocation(store, settings)
            let schedule = SigningKeySchedule(try Console.tokenSettings(settings), lead: lead)
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
            abstract: "Publish a new signing key, which signs a day later. Tokens stay valid.")

        @OptionGroup var options: Options

        @Option(
            help: ArgumentHelp(
                "Seconds after which it signs. Verifiers may keep the key set for an hour: they refuse its tokens if this is less.",
                valueName: "seconds"))
        var after: Int?

        func validate() throws {
            guard let after, !(0...SigningKeyAdministration.maximumLead).contains(after) else { return }
            throw ValidationError("--after is from 0 to \(SigningKeyAdministration.maximumLead) seconds.")
        }

        func run() throws {
            let key = try options.administer(lead: after) { (keys) throws(OperatorError) in
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
