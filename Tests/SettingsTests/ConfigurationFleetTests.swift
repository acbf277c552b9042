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
            "FLEET_BIND": "10.0.0.1,advertise=gw1.example.org",
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
        #expect(GatewayConfiguration.FleetListener.peerName == Self.role)
        #expect(try bench.load(whole()).configuration.session.gatewaySilenceSeconds == 150)
    }

    @Test func `everything that is missing is told at once`() throws {
        let changes: [String: String?] = [
            "FLEET_BIND": "0.0.0.0:6200", "FLEET_TLS_CERT_PATH": nil, "FLEET_TLS_KEY_PATH": nil,
            "FLEET_CA_PATH": nil, "STORE_URL": nil,
        ]
        let problems = bench.problems(try whole(changes))
        for expected in [
            "FLEET_BIND is set without STORE_URL", "FLEET_BIND has the port of WS_PORT, which clients reach",
            "FLEET_TLS_CERT_PATH isn't set, and FLEET_BIND is", "FLEET_TLS_KEY_PATH isn't set, and FLEET_BIND is",
            "FLEET_CA_PATH isn't set, and FLEET_BIND is", "FLEET_BIND is every address, and has no `advertise=`",
        ] { #expect(problems.contains(expected), "\(expected) isn't in \(problems)") }
    }

    @Test func `without FLEET_BIND the other settings have no effect`() throws {
        let warnings = try bench.warnings(whole(["FLEET_BIND": nil]))
        for name in ["FLEET_TLS_CERT_PATH", "FLEET_TLS_KEY_PATH", "FLEET_CA_PATH"] {
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
            try bench.problems(whole(["ADMIN_BIND": "127.0.0.1:6210"])) == ["FLEET_BIND has the port of ADMIN_BIND"])
        #expect(
            try bench.problems(whole(["WS_PORT": "0", "FLEET_BIND": "10.0.0.1:0,advertise=gw1.example.org"])) == [])
    }

    @Test func `a key of another certificate is refused`() throws {
        let other = try fleet.issue("other", now: bench.now)
        let changes = ["FLEET_TLS_KEY_PATH": try bench.file("other.key", other.key)]
        #expect(
            try bench.problems(whole(changes))
                == ["FLEET_TLS_KEY_PATH isn't the key of the first certificate in FLEET_TLS_CERT_PATH"])
    }

    @Test(arguments: [
        ("gw1", "isn't an IP address"), ("gw1:6210", "isn't an IP address"), ("2001:db8::1:x", "isn't an IP address"),
        ("", "isn't an IP address"), ("10.0.0.1:", "isn't a whole number"), ("10.0.0.1:65536", "is out of range"),
        ("10.0.0.1,advertise=a b", "is neither a host name nor an IP address"),
        ("10.0.0.1,port=1", "has an option that it can't have"), ("10.0.0.1,", "has an option that it can't have"),
        ("10.0.0.1,advertise=a,advertise=b", "has an option that it can't have"),
    ])
    func `its address has a grammar`(value: String, problem: String) throws {
        do throws(SettingProblem) {
            _ = try SettingGrammar.fleetBinding(value)
            Issue.record("\(value) was read")
        } catch { #expect(error.problem == problem, "\(value)") }
    }

    @Test(arguments: [
        ("10.0.0.1", "10.0.0.1", 6_210), ("10.0.0.1:1", "10.0.0.1", 1), ("2001:db8::1", "2001:db8::1", 6_210),
        ("[2001:db8::1]:65535", "2001:db8::1", 65_535), ("10.0.0.1:0,advertise=192.0.2.1", "10.0.0.1", 0),
    ])
    func `an address may have a port and a name`(value: String, host: String, port: Int) throws {
        let binding = try #require(try SettingGrammar.fleetBinding(value))
        #expect(binding.host.text == host && Int(binding.port) == port)
        #expect(binding.advertised?.text == (value.contains("advertise") ? "192.0.2.1" : nil))
    }
}
