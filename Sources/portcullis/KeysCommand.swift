import ArgumentParser
import FoundationEssentials
import GatewayServer
import KeyStore
import KeyStoreSQLite

struct KeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "Look after the registered keys, also while the gateway runs.",
        subcommands: [List.self, Show.self, Revoke.self, Restore.self, Forget.self])

    /// Which store: `--store`, or the one of the settings.
    struct Options: ParsableArguments {
        @OptionGroup var settings: SettingsOptions

        @Option(help: "The store's file; without it that of ATTESTED_KEYS_PATH.")
        var store: String?

        func open() throws -> SQLiteKeyRegistry {
            do throws(KeyRegistryError) {
                return try SQLiteKeyRegistry(path: try path(), creating: false)
            } catch {
                throw Console.failure(
                    "the key store can't be opened: \(error)", hint: "give its path with --store, or set ATTESTED_KEYS_PATH.")
            }
        }

        private func path() throws(KeyRegistryError) -> String {
            if let store { return store }
            do throws(ConfigurationErrors) {
                return try ConfigurationLoading.loadKeyStorage(
                    environment: Console.environment, environmentFile: settings.environmentFile).path
            } catch {
                throw .unavailable("\(error)")
            }
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List all keys, one a line.")
        private static let page = 500

        @OptionGroup var options: Options

        func run() throws {
            let store = try options.open()
            var last: KeyID?
            while case let keys = try keysCommandErrors({ () throws(KeyRegistryError) in
                try store.keys(after: last, limit: Self.page)
            }), !keys.isEmpty {
                for key in keys { Console.say(KeyDescription(key).line) }
                last = keys.last?.id
            }
        }
    }

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show all that is known of a key.")

        @OptionGroup var options: Options
        @OptionGroup var key: KeyArgument

        func run() throws {
            let store = try options.open()
            let id = try key.id()
            guard let found = try keysCommandErrors({ () throws(KeyRegistryError) in try store.key(id) }) else {
                throw key.unknown
            }
            Console.say(KeyDescription(found).full)
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
            let store = try options.open()
            let id = try key.id()
            let now = Int64(Date.now.timeIntervalSince1970 * 1_000)
            let isKnown = try keysCommandErrors { () throws(KeyRegistryError) in
                try store.revoke(id, reason: reason, at: now)
            }
            guard isKnown else { throw key.unknown }
            Console.say("revoked \(id.base64)")
        }
    }

    struct Restore: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Take a revocation back.")

        @OptionGroup var options: Options
        @OptionGroup var key: KeyArgument

        func run() throws {
            let store = try options.open()
            let id = try key.id()
            guard try keysCommandErrors({ () throws(KeyRegistryError) in try store.restore(id) }) else {
                throw key.unknown
            }
            Console.say("restored \(id.base64)")
        }
    }

    struct Forget: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Erase all that is known of a key. Its device has to register again.")

        @OptionGroup var options: Options
        @OptionGroup var key: KeyArgument

        func run() throws {
            let store = try options.open()
            let id = try key.id()
            switch try keysCommandErrors({ () throws(KeyRegistryError) in try store.forget(id) }) {
            case .forgotten: Console.say("forgot \(id.base64)")
            case .unknown: throw key.unknown
            case .refusedRevoked:
                throw Console.failure(
                    "the key is revoked: forgetting it would lift the revocation",
                    hint: "restore it first, if that is meant.")
            }
        }
    }
}

struct KeyArgument: ParsableArguments {
    @Argument(help: "The key's identifier, base64 or base64url.")
    var keyID: String

    func id() throws -> KeyID {
        guard let id = KeyID(text: keyID) else {
            throw Console.failure("this is no key identifier: it is 32 bytes in base64, as keys list shows them.")
        }
        return id
    }

    var unknown: ExitCode { Console.failure("no such key", hint: "portcullis keys list shows all.") }
}

/// Runs a call to the store; what goes wrong there is said, and ends the command.
func keysCommandErrors<Result>(_ body: () throws(KeyRegistryError) -> Result) throws -> Result {
    do throws(KeyRegistryError) {
        return try body()
    } catch {
        throw Console.failure("the key store: \(error)")
    }
}
