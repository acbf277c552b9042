import ArgumentParser
import FoundationEssentials
import GatewayServer
import OperatorTools

struct AccountsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accounts", abstract: "Administer players' accounts, also while the gateway runs.",
        subcommands: [List.self, Show.self, SignOut.self, Close.self, Forget.self])

    /// The key store: the file of `--store`, or the store of the settings.
    struct Options: ParsableArguments {
        @OptionGroup var settings: SettingsOptions

        @Option(help: "The store's file; without it the store of ATTESTED_KEYS_PATH or STORE_URL.")
        var store: String?

        /// Runs `body` on the store; an error is printed and ends the command.
        ///
        /// - Parameter mayBeMissing: whether a missing store is accepted; it is reported in either case.
        func administer(
            mayBeMissing: Bool = false, _ body: (AccountAdministration) async throws(OperatorError) -> Void
        ) async throws {
            let location = try Console.storeLocation(store, settings)
            do throws(OperatorError) {
                try await body(try AccountAdministration(location))
            } catch {
                if mayBeMissing, error.isMissingStore { return Console.complain("portcullis: \(error)") }
                throw Console.failure("\(error)", hint: error.hint)
            }
        }

        /// - Parameter gateway: was asked for before the change.
        func report(_ account: String, to gateway: ControlClient?) {
            guard let gateway, gateway.awaitNotice(ofEnding: account) == false else { return }
            Console.complain(
                "portcullis: the running gateway hasn't noticed: does it use another store? See its log. Its sessions go on."
            )
        }
    }

    struct AccountArgument: ParsableArguments {
        @Argument(help: "The account, as `list` shows it.")
        var account: String
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List all accounts, one a line.")

        @OptionGroup var options: Options

        @Flag(help: "One JSON object a line.")
        var json = false

        func run() async throws {
            try await options.administer(mayBeMissing: true) { (accounts) async throws(OperatorError) in
                // On standard error, so that a pipe stays empty.
                if try await accounts.list(json: json, Console.say) == 0 {
                    Console.complain("portcullis: there are no accounts")
                }
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show an account with its passkeys and devices.")

        @OptionGroup var options: Options
        @OptionGroup var account: AccountArgument

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() async throws {
            try await options.administer { (accounts) async throws(OperatorError) in
                Console.say(try await accounts.show(account.account, json: json))
            }
        }
    }

    struct SignOut: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "sign-out", abstract: "End an account's sign-ins, and close its sessions.",
            discussion: """
                Players come back with their passkeys. With --all all accounts: after a base backup of the database was restored.
                """)

        @OptionGroup var options: Options

        @Argument(help: "The account, as `list` shows it.")
        var account: String?

        @Flag(help: "All accounts.")
        var all = false

        func validate() throws {
            guard all == (account == nil) else { throw ValidationError("Name an account, or --all.") }
        }

        func run() async throws {
            try await options.administer { (accounts) async throws(OperatorError) in
                Console.say("ended \(try await accounts.signOut(account, at: .now)) sign-ins")
            }
        }
    }

    struct Close: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End an account for good, and close its sessions. It stays listed as closed.")

        @OptionGroup var options: Options
        @OptionGroup var account: AccountArgument

        func run() async throws {
            let gateway = try Console.runningGateway(options.settings, besides: options.store)
            try await options.administer { (accounts) async throws(OperatorError) in
                try await accounts.close(account.account, at: .now)
            }
            Console.say("closed \(account.account)")
            options.report(account.account, to: gateway)
        }
    }

    struct Forget: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Erase an account with its passkeys, and close its sessions.",
            discussion: """
                Its devices stay registered: `portcullis keys erase` erases one. Lines of the audit log and backups aren't changed.
                """)

        @OptionGroup var options: Options
        @OptionGroup var account: AccountArgument

        func run() async throws {
            let gateway = try Console.runningGateway(options.settings, besides: options.store)
            try await options.administer { (accounts) async throws(OperatorError) in
                if try await !accounts.forget(account.account, at: .now) {
                    Console.complain(
                        "portcullis: the store's own log has it until the log is written anew: others hold it up")
                }
            }
            Console.say("forgot \(account.account)")
            options.report(account.account, to: gateway)
        }
    }
}
