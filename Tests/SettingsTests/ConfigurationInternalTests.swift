import Admission
import Reactors
import SettingsTestKit
import Testing

@testable import Settings

/// The settings of the internal listener and of development tokens.
@Suite struct ConfigurationInternalTests {
    private let bench: ConfigurationBench

    init() throws {
        bench = try ConfigurationBench()
    }

    private func address(_ text: String) throws -> InternalAddress? {
        try bench.load(bench.least(["ADMIN_BIND": text])).configuration.internalListener.address
    }

    @Test func `the internal listener and development tokens are off by default`() throws {
        let configuration = try bench.load(bench.least()).configuration
        #expect(configuration.internalListener.address == nil && !configuration.developmentTokens.isAllowed)
        #expect(configuration.internalListener.admits.methods == ["token"])
    }

    @Test func `without a token the listener is on this machine alone`() throws {
        #expect(try address("127.0.0.1:9090") == .loopback(host: "127.0.0.1", port: 9_090))
        #expect(try address("[::1]:0") == .loopback(host: "::1", port: 0))
        #expect(try address("unix:\(bench.folder)/admin.sock") == .unix(path: "\(bench.folder)/admin.sock"))
        for text in ["0.0.0.0:9090", "192.0.2.1:9090", "[::]:9090", "[2001:db8::1]:80"] {
            let problem = "ADMIN_BIND is an address that other machines can reach, and ADMIN_TOKEN_PATH isn't set"
            #expect(bench.problems(bench.least(["ADMIN_BIND": text])) == [problem], "\(text)")
        }
        for text in ["127.0.0.1", ":9090", "9090", "localhost:9090", "::1:9090", "127.0.0.1:65536", "127.0.0.1:x"] {
            #expect(
                bench.problems(bench.least(["ADMIN_BIND": text]))
                    == ["ADMIN_BIND is neither an address with a port nor a Unix socket"], "\(text)")
        }
    }

    @Test func `an address that other machines reach needs a token and a permission`() throws {
        let path = try bench.file("admin.token", String(repeating: "t", count: 32) + "\n")
        let changes = ["ADMIN_BIND": "0.0.0.0:9090", "ADMIN_TOKEN_PATH": path]
        #expect(
            bench.problems(bench.least(changes))
                == ["ADMIN_BIND is an address that other machines can reach, without TLS"])
        let allowed = changes.merging(["ALLOW_INSECURE_ADMIN_NO_TLS": "true"]) { $1 }
        let loaded = try bench.load(bench.least(allowed))
        #expect(loaded.configuration.internalListener.address == .network(host: "0.0.0.0", port: 9_090))
        #expect(loaded.configuration.internalToken?.matches(String(repeating: "t", count: 32)) == true)
        #expect(loaded.warnings.contains { "\($0)".contains("anyone on the network path can read the token") })
    }

    @Test(arguments: ["", "short", String(repeating: "t", count: 513), String(repeating: "t", count: 32) + " x"])
    func `a token is one line of 32 to 512 letters`(content: String) throws {
        let path = try bench.file("admin.token", content)
        let problems = bench.problems(bench.least(["ADMIN_BIND": "127.0.0.1:0", "ADMIN_TOKEN_PATH": path]))
        #expect(problems == ["ADMIN_TOKEN_PATH names a file that isn't one line of 32 to 512 letters"])
    }

    @Test func `a longest token is accepted`() throws {
        let path = try bench.file("admin.token", String(repeating: "t", count: 512))
        _ = try bench.load(bench.least(["ADMIN_BIND": "127.0.0.1:0", "ADMIN_TOKEN_PATH": path]))
    }

    @Test func `the listener is never on the clients port`() throws {
        let changes = ["ADMIN_BIND": "127.0.0.1:6200", "WS_PORT": "6200"]
        #expect(
            bench.problems(bench.least(changes)) == ["ADMIN_BIND has the port of WS_PORT, which clients reach"])
    }

    @Test func `a socket needs an existing folder and a path that the system accepts`() throws {
        let longest = LocalSocket.maximumPathBytes
        #expect(
            bench.problems(bench.least(["ADMIN_BIND": "unix:" + String(repeating: "a", count: longest + 1)]))
                == ["ADMIN_BIND names a socket with an empty path or one longer than \(longest) bytes"])
        #expect(!bench.problems(bench.least(["ADMIN_BIND": "unix:"])).isEmpty)
        #expect(!bench.problems(bench.least(["ADMIN_BIND": "unix:\(bench.folder)/missing/admin.sock"])).isEmpty)
    }
}
