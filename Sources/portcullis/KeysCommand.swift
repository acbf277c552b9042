import ArgumentParser
import FoundationEssentials
import GatewayServer

struct KeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "Look after the registered keys, also while the gateway runs.",
        subcommands: [List.self, Show.self, Revoke.self, Restore.self, Forget.self])

    /// Which store: `--store`, or the one of the settings.
    struct Options: ParsableArguments {
        @OptionGroup var settings: SettingsOptions

        @Option(help: "The store's file; without it that of ATTESTED_KEYS_PATH.")
        var store: String?

        /// Runs `body` on the store; what goes wrong is said, and ends the command.
        ///
        /// - Parameter mayBeMissing: whether it is all right, and only said, that there is no store yet.
        func administer(
            mayBeMissing: Bool = false, _ body: (KeyAdministration) throws(KeyAdministrationError) -> Void
        ) throws {
            let path = try store ?? Console.keyStorePath(settings)
            do throws(KeyAdministrationError) {
                try body(try KeyAdministration(path: path))
            } catch {
                if mayBeMissing, case .noStore = error { return Console.complain("portcullis: \(error)") }
                throw Console.failure("\(error)", hint: error.hint)
            }
        }
    }

    struct KeyArgument: ParsableArguments {
        @Argument(help: "The key's identifier, base64 or base64url.")
        var keyID: String
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List all keys, one a line.")

        @OptionGroup var options: Options

        func run() throws {
            try options.administer(mayBeMissing: true) { (keys) throws(KeyAdministrationError) in
                try keys.list(Console.say)
            }
        }
    }

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show all that is known of a key.")

        @OptionGroup var options: Options
        @OptionGroup var key: KeyArgument

        func run() throws {
            try options.administer { (keys) throws(KeyAdministrationError) in Console.say(try keys.show(key.keyID)) }
        }
    }

    struct Revoke: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Refuse a key from now on, whatever it can prove. Registering it again doesn't help it.")

        @OptionGroup var options: Options
        @OptionGroup var key: KeyArgument

        @Option(help: "Why, for the record.")
        var reason = "by operator"

        func run() throws {
            try options.administer { (keys) throws(KeyAdministrationError) in
                try keys.revoke(key.keyID, reason: reason, at: .now)
            }
            Console.say("revoked \(key.keyID)")
            if let gateway = Console.runningGateway(options.settings),
                gateway.awaitNotice(ofRevoking: key.keyID) == false
            {
                Console.complain(
                    "portcullis: the running gateway hasn't noticed: does it use another store? See its log. Its sessions go on."
                )
            }
        }
    }

    struct Restore: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Take a revocation back.")

        @OptionGroup var options: Options
        @OptionGroup var key: KeyArgument

        func run() throws {
            try options.administer { (keys) throws(KeyAdministrationError) in try keys.restore(key.keyID) }
            Console.say("restored \(key.keyID)")
        }
    }

    struct Forget: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Erase all that is known of a key. Its device has to register again.")

        @OptionGroup var options: Options
        @OptionGroup var key: KeyArgument

        func run() throws {
            try options.administer { (keys) throws(KeyAdministrationError) in try keys.forget(key.keyID) }
            Console.say("forgot \(key.keyID)")
        }
    }
}
