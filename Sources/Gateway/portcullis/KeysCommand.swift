import ArgumentParser
import FoundationEssentials
import GatewayServer
import OperatorTools

struct KeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "Administer the registered keys, also while the gateway runs.",
        subcommands: [
            List.self, Show.self, Revoke.self, Restore.self, Forget.self, Prune.self, Export.self, Erase.self,
        ])

    /// The key store: the file of `--store`, or the store of the settings.
    struct Options: ParsableArguments {
        @OptionGroup var settings: SettingsOptions

        @Option(help: "The store's file; without it the store of ATTESTED_KEYS_PATH or STORE_URL.")
        var store: String?

        /// Runs `body` on the store; an error is printed and ends the command.
        ///
        /// - Parameter mayBeMissing: whether a missing store is accepted; it is reported in either case.
        func administer(
            mayBeMissing: Bool = false, _ body: (KeyAdministration) async throws(OperatorError) -> Void
        ) async throws {
            let location = try Console.storeLocation(store, settings)
            do throws(OperatorError) {
                try await body(try KeyAdministration(location))
            } catch {
                if mayBeMissing, error.isMissingStore { return Console.complain("portcullis: \(error)") }
                throw Console.failure("\(error)", hint: error.hint)
            }
        }
    }

    struct KeyArgument: ParsableArguments {
        @Argument(help: "The key's identifier, base64 or base64url.")
        var keyID: String
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List all keys, one a line.")

        @OptionGroup var options: Options

        @Flag(help: "One JSON object a line.")
        var json = false

        func run() async throws {
            try await options.administer(mayBeMissing: true) { (keys) async throws(OperatorError) in
                // On standard error, so that a pipe stays empty.
                if try await keys.list(json: json, Console.say) == 0 {
                    Console.complain("portcullis: no keys are registered")
                }
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show all that is known of a key.")

        @OptionGroup var options: Options
        @OptionGroup var key: KeyArgument

        func run() async throws {
            try await options.administer { (keys) async throws(OperatorError) in
                Console.say(try await keys.show(key.keyID))
            }
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Refuse a key from now on. Registering it again doesn't lift the revocation.")

        @OptionGroup var options: Options
        @OptionGroup var key: KeyArgument

        @Option(help: "Why, for the record.")
        var reason = "by operator"

        func run() async throws {
            let gateway = try Console.runningGateway(options.settings, besides: options.store)
            try await options.administer { (keys) async throws(OperatorError) in
                try await keys.revoke(key.keyID, reason: reason, at: .now)
            }
            Console.say("revoked \(key.keyID)")
            if let gateway, gateway.awaitNotice(ofRevoking: key.keyID) == false {
                Console.complain(
                    "portcullis: the running gateway hasn't noticed: does it use another store? See its log. Its sessions go on."
                )
            }
        }
    }

    struct Restore: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Take a revocation back.")

        @OptionGroup var options: Options
        @OptionGroup var key: KeyArgument

        func run() async throws {
            try await options.administer { (keys) async throws(OperatorError) in
                try await keys.restore(key.keyID)
            }
            Console.say("restored \(key.keyID)")
        }
    }

    struct Forget: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a key and all its data. Its device must register again.")

        @OptionGroup var options: Options
        @OptionGroup var key: KeyArgument

        func run() async throws {
            try await options.administer { (keys) async throws(OperatorError) in
                try await keys.forget(key.keyID)
            }
            Console.say("forgot \(key.keyID)")
        }
    }
}
