import Reactors
import SettingsTestKit
import Testing

@testable import Settings

/// The listener for other gateways.
@Suite struct ConfigurationFleetTests {
    private let bench: ConfigurationBench
    private let fleet: TestAuthority

    init() throws {
        bench = try ConfigurationBench()
        fleet = try TestAuthority(name: "Fleet CA", now: bench.now)
    }

    private static let role = "gateway.portcullis.internal"

    /// A gateway of a fleet.
    private func whole(
        names: [String] = ["gw1.example.org", role], _ changes: [String: String?] = [:]
    ) throws -> [String: String] {
        let gateway = try fleet.issue("gw1", now: bench.now, hosts: names)
        let settings: [String: String?] = [
            "ATTESTED_KEYS_PATH": nil, "STORE_URL": "postgresql://portcullis@127.0.0.1/portcullis",
            "STORE_SECRETS_KEY_PATH": try bench.file("store.keys", String(repeating: "ab", count: 32) + "\n"),
            "FLEET_BIND": "10.0.0.1", "FLEET_ADVERTISE": "gw1.example.org",
            "FLEET_TLS_CERT_PATH": try bench.file("gw1.pem", gateway.certificate),
            "FLEET_TLS_KEY_PATH": try bench.file("gw1.key", gateway.key),
            "FLEET_CA_PATH": try bench.file("fleet-ca.pem", fleet.certificate),
        ]
        return bench.least(settings.merging(changes) { $1 })
    }

    @Test func `a gateway is alone by default`() throws {
        #expect(try bench.load(bench.least()).configuration.fleetListener == nil)
    }

    @Test func `a gateway of a fleet has an address, a certificate and an authority`() throws {
        let listener = try #require(try bench.load(whole()).configuration.fleetListener)
        #expect(listener.host == "10.0.0.1" && listener.port == 6_210 && listener.advertised == "gw1.example.org")
        #expect(listener.peerName == Self.role && listener.maximumConnections == 10_000)
        #expect(
            listener.idleSeconds == ForwardLimits().idleSeconds && listener.queueBytes == ForwardLimits().queueBytes)
    }

    @Test func `everything that is missing is told at once`() throws {
        let changes: [String: String?] = [
            "FLEET_BIND": "0.0.0.0", "FLEET_ADVERTISE": nil, "FLEET_TLS_CERT_PATH": nil, "FLEET_TLS_KEY_PATH": nil,
            "FLEET_CA_PATH": nil, "STORE_URL": nil, "FLEET_PORT": "6200", "FLEET_IDLE_SECONDS": "25",
            "PING_INTERVAL_SECONDS": "25",
        ]
        let problems = bench.problems(try whole(changes))
        for expected in [
            "FLEET_BIND is set without STORE_URL", "FLEET_PORT is the port of WS_PORT, which clients reach",
            "FLEET_IDLE_SECONDS isn't longer than PING_INTERVAL_SECONDS",
            "FLEET_TLS_CERT_PATH isn't set, and FLEET_BIND is", "FLEET_TLS_KEY_PATH isn't set, and FLEET_BIND is",
            "FLEET_CA_PATH isn't set, and FLEET_BIND is", "FLEET_ADVERTISE isn't set, and FLEET_BIND is every address",
        ] { #expect(problems.contains(expected), "\(expected) isn't in \(problems)") }
    }

    @Test func `without FLEET_BIND the other settings have no effect`() throws {
        let warnings = try bench.warnings(whole(["FLEET_BIND": nil]))
        for name in ["FLEET_ADVERTISE", "FLEET_TLS_CERT_PATH", "FLEET_TLS_KEY_PATH", "FLEET_CA_PATH"] {
            #expect(warnings.contains { $0.contains(name) && $0.contains("has no effect without FLEET_BIND") })
        }
    }

    @Test(arguments: [["gw1.example.org"], [role], ["GW2.example.org", role], []])
    func `a certificate without one of the names is refused`(names: [String]) throws {
        let missing = names.contains("gw1.example.org") ? Self.role : "gw1.example.org"
        #expect(
            try bench.problems(whole(names: names))
                == ["FLEET_TLS_CERT_PATH names a certificate without the name \(missing)"])
    }

    @Test func `names are compared without regard to case`() throws {
        #expect(try bench.problems(whole(names: ["GW1.Example.org", Self.role.uppercased()])) == [])
    }

    @Test func `an authority of players or of tools isn't the gateways' too`() throws {
        let shared = try bench.file("both.pem", bench.authority.certificate + fleet.certificate)
        let server = try bench.authority.issue("server", now: bench.now)
        let tls: [String: String?] = [
            "INBOUND_TLS_MODE": "required", "TLS_CERT_PATH": try bench.file("server.pem", server.certificate),
            "TLS_KEY_PATH": try bench.file("server.key", server.key), "MTLS_CLIENT_CA_PATH": shared,
        ]
        #expect(try bench.problems(whole(tls)) == ["FLEET_CA_PATH has an authority of MTLS_CLIENT_CA_PATH"])
        let admin: [String: String?] = ["ADMIN_BIND": "127.0.0.1:9090", "ADMIN_CLIENT_CA_PATH": shared]
        #expect(
            try bench.problems(whole(tls.merging(["MTLS_CLIENT_CA_PATH": nil]) { $1 }.merging(admin) { $1 }))
                == ["FLEET_CA_PATH has an authority of ADMIN_CLIENT_CA_PATH"])
    }

    @Test func `two listeners don't share a port`() throws {
        #expect(
            try bench.problems(whole(["ADMIN_BIND": "127.0.0.1:6210"])) == ["FLEET_PORT is the port of ADMIN_BIND"])
        #expect(try bench.problems(whole(["WS_PORT": "0", "FLEET_PORT": "0"])) == [])
    }

    @Test func `a key of another certificate is refused`() throws {
        let other = try fleet.issue("other", now: bench.now)
        let changes = ["FLEET_TLS_KEY_PATH": try bench.file("other.key", other.key)]
        #expect(
            try bench.problems(whole(changes))
                == ["FLEET_TLS_KEY_PATH isn't the key of the first certificate in FLEET_TLS_CERT_PATH"])
    }

    @Test(arguments: [
        ("FLEET_BIND", "gw1", "isn't an IP address"), ("FLEET_PEER_NAME", "a b", "isn't a host name"),
        ("FLEET_PEER_NAME", "10.0.0.1", "isn't a host name"),
    ])
    func `values have a grammar`(name: String, value: String, problem: String) throws {
        #expect(try bench.problems(whole([name: value])) == ["\(name) \(problem)"])
    }
}
