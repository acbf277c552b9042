import SettingsTestKit
import Testing

@testable import Settings

/// The settings of a fleet's database.
@Suite struct ConfigurationStoreTests {
    private static let local = "postgresql://gate@127.0.0.1/portcullis"
    private static let remote = "postgresql://gate@db.example.org/portcullis"

    private let bench: ConfigurationBench
    private let keys: String

    init() throws {
        bench = try ConfigurationBench()
        keys = try bench.file("store.keys", String(repeating: "ab", count: 32) + "\n")
    }

    private func changes(_ url: String, _ more: [String: String?] = [:]) -> [String: String] {
        let needed: [String: String?] = [
            "STORE_URL": url, "STORE_SECRETS_KEY_PATH": keys, "ATTESTED_KEYS_PATH": nil as String?,
        ]
        return bench.least(needed.merging(more) { $1 })
    }

    @Test func `the store is a file unless a database is named`() throws {
        #expect(try bench.load(bench.least()).configuration.fleetStore == nil)
        let store = try #require(try bench.load(changes(Self.local)).configuration.fleetStore)
        #expect(store.secretKeys == [[UInt8](repeating: 0xAB, count: 32)])
        #expect(store.connectionParameters["host"] == "127.0.0.1" && store.connectionParameters["password"] == nil)
        #expect(FleetStoreConfiguration.connections == 4 && store.timeoutMilliseconds == 2_000)
    }

    @Test func `a gateway has one store`() {
        #expect(
            bench.problems(changes(Self.local, ["ATTESTED_KEYS_PATH": "\(bench.folder)/keys.sqlite"]))
                == ["STORE_URL is set, and so is ATTESTED_KEYS_PATH"])
    }

    @Test func `the database is verified beyond this machine, unless that is allowed`() throws {
        #expect(try bench.warnings(changes(Self.remote)).allSatisfy { !$0.contains("STORE_URL") })
        let weak = Self.remote + "?sslmode=require"
        #expect(bench.problems(changes(weak)) == ["STORE_URL doesn't verify a server on another machine"])
        let allowed = changes(weak, ["ALLOW_INSECURE_STORE_TLS": "true"])
        #expect(bench.problems(allowed) == [])
        #expect(try bench.warnings(allowed).contains { $0.contains("whoever is between") })
    }

    @Test func `the password is one line of a file, and is shown nowhere`() throws {
        let path = try bench.file("store.password", "open sesame\n")
        let loaded = try bench.load(changes(Self.remote, ["STORE_PASSWORD_PATH": path]))
        let store = try #require(loaded.configuration.fleetStore)
        #expect(store.connectionParameters["password"] == "open sesame")
        let shown = "\(store) \(String(reflecting: store)) \(loaded.configuration) \(loaded.settings)"
        #expect(!shown.contains("sesame") && !shown.contains("171, 171"))
        var dumped = ""
        dump(store, to: &dumped)
        #expect(!dumped.contains("sesame") && !dumped.contains("171, 171"))
        for content in ["", "\n", "two\nlines\n"] {
            let path = try bench.file("store.password", content)
            #expect(
                bench.problems(changes(Self.remote, ["STORE_PASSWORD_PATH": path]))
                    == ["STORE_PASSWORD_PATH names a file that isn't one line"])
        }
    }

    @Test func `secrets need keys, of which there may be eight`() throws {
        #expect(
            bench.problems(changes(Self.local, ["STORE_SECRETS_KEY_PATH": nil as String?]))
                == ["STORE_SECRETS_KEY_PATH isn't set"])
        let key = String(repeating: "0f", count: 32)
        for (content, count) in [("# new\n\(key)\n", 1), (String(repeating: key + "\n", count: 8), 8)] {
            let path = try bench.file("store.keys", content)
            let loaded = try bench.load(changes(Self.local, ["STORE_SECRETS_KEY_PATH": path]))
            #expect(loaded.configuration.fleetStore?.secretKeys.count == count)
        }
        for content in ["", "# none\n", key + "0\n", key.dropLast() + "\n", String(repeating: key + "\n", count: 9)] {
            let path = try bench.file("store.keys", String(content))
            #expect(
                bench.problems(changes(Self.local, ["STORE_SECRETS_KEY_PATH": path]))
                    == ["STORE_SECRETS_KEY_PATH names a file that has something else than 1 to 8 keys"])
        }
    }

    @Test func `files without a database have no effect, and secrets that all can read are warned of`() throws {
        let open = try bench.file("open.keys", String(repeating: "ab", count: 32) + "\n", mode: 0o644)
        #expect(
            try bench.warnings(bench.least(["STORE_SECRETS_KEY_PATH": open])).contains {
                $0.contains("no effect without STORE_URL")
            })
        #expect(
            try bench.warnings(changes(Self.local, ["STORE_SECRETS_KEY_PATH": open])).contains {
                $0.contains("everybody on this machine can read the secret")
            })
    }
}
