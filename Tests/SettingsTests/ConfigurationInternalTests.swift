import Admission
import Glibc
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

    @Test(arguments: [
        ("token", ["token"]), ("token+dev", ["token", "dev"]), ("token+signed", ["token", "signed"]),
        ("token+dev+signed", ["token", "dev", "signed"]),
    ]) func `signed requests pass a proxy only where they are named`(text: String, methods: [String]) throws {
        let settings = ["ADMIN_BIND": "127.0.0.1:9464", "AUTHZ_ADMIT": text, "SIGNED_REQUESTS": "on"]
        let configuration = try bench.load(bench.least(settings)).configuration
        #expect(configuration.internalListener.admits.methods == Set(methods))
    }

    private static let unlimited =
        "ADMIN_BIND is an address that other machines can reach, and neither ADMIN_TOKEN_PATH nor ADMIN_CLIENT_CA_PATH is set"
    private static let unsecured = "ADMIN_BIND needs TLS, and there is no certificate for it"

    @Test func `without a token the listener is on this machine alone`() throws {
        #expect(try address("127.0.0.1:9090") == .loopback(host: "127.0.0.1", port: 9_090))
        #expect(try address("[::1]:0") == .loopback(host: "::1", port: 0))
        #expect(try address("unix:\(bench.folder)/admin.sock") == .unix(path: "\(bench.folder)/admin.sock"))
        for text in ["0.0.0.0:9090", "192.0.2.1:9090", "[::]:9090", "[2001:db8::1]:80"] {
            let problems = bench.problems(bench.least(["ADMIN_BIND": text]))
            #expect(problems == [Self.unsecured, Self.unlimited], "\(text)")
        }
        for text in ["127.0.0.1", ":9090", "9090", "localhost:9090", "::1:9090", "127.0.0.1:65536", "127.0.0.1:x"] {
            #expect(
                bench.problems(bench.least(["ADMIN_BIND": text]))
                    == ["ADMIN_BIND is neither an address with a port nor a Unix socket"], "\(text)")
        }
    }

    @Test func `an address that other machines reach needs a token and TLS or a permission`() throws {
        let path = try bench.file("admin.token", String(repeating: "t", count: 32) + "\n")
        let changes = ["ADMIN_BIND": "0.0.0.0:9090", "ADMIN_TOKEN_PATH": path]
        #expect(bench.problems(bench.least(changes)) == [Self.unsecured])
        let allowed = changes.merging(["ADMIN_BIND": "0.0.0.0:9090,tls=off"]) { $1 }
        let loaded = try bench.load(bench.least(allowed))
        #expect(loaded.configuration.internalListener.address == .network(host: "0.0.0.0", port: 9_090))
        #expect(loaded.configuration.internalToken?.matches(String(repeating: "t", count: 32)) == true)
        #expect(loaded.configuration.internalTLS == nil)
        #expect(loaded.warnings.contains { "\($0)".contains("anyone on the network path can read the token") })
        #expect(
            bench.problems(bench.least(["ADMIN_BIND": "0.0.0.0:9090,tls=off"]))
                == [Self.unlimited])
    }

    @Test func `beyond this machine the server's certificate is used unless the listener has its own`() throws {
        let authority = try bench.file("admin-ca.pem", bench.authority.certificate)
        let changes = ["ADMIN_BIND": "0.0.0.0:9090", "ADMIN_CLIENT_CA_PATH": authority]
        let loaded = try bench.load(bench.secured(changes))
        let tls = try #require(loaded.configuration.internalTLS)
        #expect(tls.certificatePath == bench.folder + "/server.pem" && !tls.hasOwnCertificate)
        #expect(tls.clients?.authorityPath == authority && loaded.configuration.internalToken == nil)
        #expect(!loaded.warnings.contains { "\($0)".contains("has no TLS") })

        let own = try bench.authority.issue("admin", now: bench.now)
        let pair = [
            "ADMIN_TLS_CERT_PATH": try bench.file("admin.pem", own.certificate),
            "ADMIN_TLS_KEY_PATH": try bench.file("admin.key", own.key),
        ]
        let other = try bench.load(bench.least(changes.merging(pair) { $1 })).configuration.internalTLS
        #expect(other?.certificatePath == bench.folder + "/admin.pem" && other?.hasOwnCertificate == true)
        #expect(bench.problems(bench.least(changes)) == [Self.unsecured])
        // That the server's own certificate is missing is said once.
        #expect(
            bench.problems(bench.least(changes.merging(["INBOUND_TLS_MODE": "required"]) { $1 })) == [
                "TLS_CERT_PATH isn't set, and INBOUND_TLS_MODE is required",
                "TLS_KEY_PATH isn't set, and INBOUND_TLS_MODE is required",
            ])
    }

    @Test func `on this machine TLS is on only if its files are set`() throws {
        #expect(try bench.load(bench.secured(["ADMIN_BIND": "127.0.0.1:9090"])).configuration.internalTLS == nil)
        let authority = try bench.file("admin-ca.pem", bench.authority.certificate)
        let changes = ["ADMIN_BIND": "127.0.0.1:9090", "ADMIN_CLIENT_CA_PATH": authority]
        #expect(try bench.load(bench.secured(changes)).configuration.internalTLS?.clients != nil)
    }

    @Test func `all mistakes about TLS are reported together`() throws {
        let server = try bench.authority.issue("admin", now: bench.now)
        let changes = [
            "ADMIN_BIND": "0.0.0.0:9090", "ADMIN_TLS_CERT_PATH": try bench.file("admin.pem", server.certificate),
            "ADMIN_CLIENT_CRL_PATH": try bench.file("list.pem", "x"), "ADMIN_TOKEN_PATH": try bench.file("token", "x"),
        ]
        #expect(
            bench.problems(bench.least(changes)) == [
                "ADMIN_TOKEN_PATH names a file that isn't one line of 32 to 512 letters",
                "ADMIN_CLIENT_CRL_PATH is set without ADMIN_CLIENT_CA_PATH",
                "ADMIN_TLS_CERT_PATH is set without ADMIN_TLS_KEY_PATH",
            ])
        let other = try bench.authority.issue("other", now: bench.now)
        let mixed = changes.merging([
            "ADMIN_TLS_KEY_PATH": try bench.file("other.key", other.key), "ADMIN_CLIENT_CA_PATH": bench.folder + "/no",
        ]) { $1 }
        let problems = bench.problems(bench.least(mixed))
        #expect(problems.contains("ADMIN_TLS_KEY_PATH isn't the key of the first certificate in ADMIN_TLS_CERT_PATH"))
        #expect(problems.contains { $0.hasPrefix("ADMIN_CLIENT_CA_PATH names a file that can't be read") })
    }

    @Test func `a Unix socket has no TLS, and no listener has none of its settings`() throws {
        let files = [
            "ADMIN_TLS_CERT_PATH": "a", "ADMIN_TLS_KEY_PATH": "b", "ADMIN_CLIENT_CA_PATH": "c",
            "ADMIN_CLIENT_CRL_PATH": "d",
        ]
        let socket = files.merging(["ADMIN_BIND": "unix:\(bench.folder)/admin.sock"]) { $1 }
        #expect(
            bench.problems(bench.least(socket))
                == ["ADMIN_TLS_CERT_PATH", "ADMIN_TLS_KEY_PATH", "ADMIN_CLIENT_CA_PATH", "ADMIN_CLIENT_CRL_PATH"].map {
                    $0 + " is set while ADMIN_BIND is a Unix socket, which has no TLS"
                })
        let warnings = try bench.warnings(bench.least(files))
        for name in files.keys {
            #expect(warnings.contains { $0.contains("\(name): has no effect without ADMIN_BIND") })
        }
    }

    @Test func `the socket's group is one of this machine and of the gateway's user`() throws {
        let socket = "unix:\(bench.folder)/admin.sock"
        func problems(_ group: String) -> [String] {
            bench.problems(bench.least(["ADMIN_BIND": "\(socket),group=\(group)"]))
        }
        #expect(problems("no-such-group") == ["ADMIN_BIND names no group of this machine"])
        for text in ["a b", "1", "-x", String(repeating: "a", count: 33), "a:b"] {
            #expect(problems(text) == ["ADMIN_BIND has something else than the name of a group"], "\(text)")
        }
        let own = String(cString: getgrgid(getegid()).pointee.gr_name)
        let loaded = try bench.load(bench.least(["ADMIN_BIND": "\(socket),group=\(own)"]))
        #expect(loaded.configuration.internalSocketGroup == getegid())
        for text in [
            "127.0.0.1:0,group=\(own)", "\(socket),tls=off", "\(socket),group=\(own),group=\(own)", "\(socket),",
            "127.0.0.1:0,tls=off,tls=off", "127.0.0.1:0,tls=on",
        ] {
            #expect(
                bench.problems(bench.least(["ADMIN_BIND": text])) == ["ADMIN_BIND has an option that it can't have"],
                "\(text)")
        }
        if geteuid() != 0 {
            #expect(problems("root") == ["ADMIN_BIND names a group that the gateway's user isn't a member of"])
        }
    }

    @Test func `the console is off by default, and beside a group it is warned of`() throws {
        let socket = "unix:\(bench.folder)/admin.sock"
        #expect(try bench.load(bench.least(["ADMIN_BIND": socket])).configuration.internalListener.console == .off)
        let own = String(cString: getgrgid(getegid()).pointee.gr_name)
        let both = ["ADMIN_BIND": "\(socket),group=\(own)", "ADMIN_CONSOLE": "on"]
        #expect(try bench.warnings(bench.least(both)).contains { $0.contains("can close sessions and revoke devices") })
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
