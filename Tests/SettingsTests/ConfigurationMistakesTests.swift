import SettingsTestKit
import Testing

@testable import Settings

/// Settings that are allowed and hardly ever meant: each is a warning.
@Suite("Likely mistakes")
struct ConfigurationMistakesTests {
    private let bench: ConfigurationBench

    init() throws { bench = try ConfigurationBench() }

    @Test func `a bundle that begins with a team is warned of`() throws {
        let prefixed = "AAABBBCCC1.com.example.yourapp"
        #expect(
            try bench.warnings(bench.least(["APPATTEST_BUNDLE_ID": "com.example.other,\(prefixed)"])) == [
                "APPATTEST_BUNDLE_ID: has the bundle \(prefixed), which begins with what looks like a team: the bundle alone is"
                    + " com.example.yourapp."
            ])
        let further = try bench.warnings(bench.least(["APPATTEST_APP_IDS": "BBBBBBBBBB.\(prefixed)"]))
        #expect(further.count == 1 && further[0].hasPrefix("APPATTEST_APP_IDS: has the bundle \(prefixed)"))
        for bundle in ["com.example.yourapp", "exampleapp.mud", "ABCDEFGHIJ", "ABCDEFGHIJK.mud", "abcdefghij.mud"] {
            #expect(try bench.warnings(bench.least(["APPATTEST_BUNDLE_ID": bundle])) == [], "\(bundle)")
        }
    }

    private func secured(_ names: [String], _ changes: [String: String?]) throws -> [String] {
        let server = try bench.authority.issue("server", now: bench.now, hosts: names)
        let files = [
            "TLS_CERT_PATH": try bench.file("named.pem", server.certificate),
            "TLS_KEY_PATH": try bench.file("named.key", server.key),
        ]
        return try bench.warnings(bench.secured(changes).merging(files) { $1 })
    }

    @Test func `an origin outside the certificate is warned of`() throws {
        let warning =
            "PUBLIC_ORIGIN: isn't covered by the server's certificate, whose names are: mud.example.com, *.example.org. Clients refuse"
            + " it there, unless a proxy in front shows them another one."
        let names = ["mud.example.com", "*.example.org"]
        for origin in [
            "https://play.example.com", "https://example.org", "https://a.b.example.org:6200", "https://192.0.2.1",
        ] {
            #expect(try secured(names, ["PUBLIC_ORIGIN": origin]) == [warning], "\(origin)")
        }
        for origin in ["https://mud.example.com", "https://mud.example.com:6200", "https://play.example.org"] {
            #expect(try secured(names, ["PUBLIC_ORIGIN": origin]) == [], "\(origin)")
        }
        #expect(try secured([], ["PUBLIC_ORIGIN": "https://a.example"])[0].contains("whose names are: none."))
    }

    @Test func `a proxy that ends TLS has a certificate of its own`() throws {
        let behind = ["PUBLIC_ORIGIN": "https://play.example.com", "TRUSTED_PROXY_CIDRS": "192.0.2.0/24"]
        #expect(try secured(["mud.internal"], behind) == [])
        let passing = behind.merging(["INBOUND_PROXY_PROTOCOL": "true"]) { $1 }
        #expect(try secured(["mud.internal"], passing).count == 1)
    }

    @Test(arguments: [
        ("TLS_CERT_PATH", "/cert.pem"), ("TLS_KEY_PATH", "/key.pem"), ("TLS_MIN_VERSION", "1.3"),
        ("NEXT_CERT_PATH", "/next.pem"),
    ]) func `a setting of TLS is warned of where TLS is off`(name: String, value: String) throws {
        #expect(
            try bench.warnings(bench.least([name: value])) == [
                "\(name): has no effect while INBOUND_TLS_MODE is off."
            ])
    }

    @Test func `the oldest version of TLS isn't warned of where TLS is on`() throws {
        #expect(try bench.warnings(bench.secured(["TLS_MIN_VERSION": "1.3"])) == [])
    }

    @Test func `a listener for metrics alone isn't warned of`() throws {
        let noApps = bench.least([
            "APPATTEST_TEAM_ID": nil, "APPATTEST_BUNDLE_ID": nil, "CONTROL_SOCKET_PATH": bench.folder + "/c.sock",
            "ADMIN_BIND": "127.0.0.1:9464",
        ])
        #expect(try bench.warnings(noApps) == [])
        #expect(
            try bench.warnings(noApps.merging(["AUTHZ_ADMIT": "token+dev"]) { $1 }) == [
                "AUTHZ_ADMIT: has no effect while App Attest is off: /authz is answered 404."
            ])
    }

    /// Debian's Prometheus listens on 9090 itself.
    @Test func `the hint for the internal listener names a port that Prometheus leaves free`() throws {
        let error = try #require(bench.errors(bench.least(["ADMIN_BIND": "9464"])).first)
        #expect(error.remedy.contains("`127.0.0.1:9464`") && !error.remedy.contains("9090"))
        #expect(!GatewaySettings.all.internalListener.binding.row.details.contains("9090"))
    }

    @Test func `only what differs from its default counts as changed`() throws {
        let file = try bench.file(
            "gateway.env", "WS_PORT=06200\nLOG_LEVEL=info\nMAX_BODY_BYTES=20000\nMTLS_CLIENT_CA_PATH=\n")
        let settings = bench.least(["WS_PORT": nil])
        let loaded = try bench.load(settings, file: file).settings
        let changed = Set(loaded.filter { !$0.isDefault }.map(\.name))
        #expect(changed == Set(settings.keys).union(["MAX_BODY_BYTES"]))
    }
}
