import Admission
import Foundation
import RelayCore
import SettingsTestKit
import Testing

@testable import Settings

/// A Unix socket's file, as a gateway has it.
private final class ListeningSocketFile {
    let path: String
    private let descriptor: Int32

    init(_ path: String) throws {
        self.path = path
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
        let isBound = withUnsafeBytes(of: &address) { bytes in
            bind(
                descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
        }
        try #require(isBound)
    }

    deinit {
        close(descriptor)
    }
}

/// The settings about targets, tickets and proxies: valid and invalid combinations.
@Suite struct ConfigurationTargetTests {
    private let bench: ConfigurationBench

    init() throws {
        bench = try ConfigurationBench()
    }

    @Test(
        arguments: [
            (
                ["TARGET_MODE": "allowlist"],
                ["TARGET_MODE can't be used so: TARGET_MODE=allowlist needs TARGET_ALLOWLIST"]
            ),
            (
                ["TARGET_ALLOWLIST": "a.example:1"],
                ["TARGET_MODE can't be used so: TARGET_ALLOWLIST means nothing with TARGET_MODE=fixed"]
            ),
            (["TARGET_MODE": "arbitrary"], ["TARGET_MODE can't be used so: TARGET_MODE=arbitrary needs TARGET_PORTS"]),
            (
                ["TARGET_PORTS": "4000"],
                ["TARGET_MODE can't be used so: TARGET_PORTS means something with TARGET_MODE=arbitrary only"]
            ),
            (
                ["TARGET_MODE": "arbitrary", "TARGET_PORTS": "4000", "REQUIRE_APP_AUTH": "false"],
                [
                    "TARGET_MODE can't be used so: TARGET_MODE=arbitrary needs REQUIRE_APP_AUTH=true: it is an open relay"
                        + " otherwise"
                ]
            ),
            (
                ["TARGET_ALLOWLIST": "a.example", "TARGET_MODE": "allowlist"],
                ["TARGET_ALLOWLIST holds a target that can't be read"]
            ),
            (["TARGET_PORTS": "0", "TARGET_MODE": "arbitrary"], ["TARGET_PORTS holds a port that can't be read"]),
            (["MUD_ROUTES": "main=a.example:4000,tsl=required"], ["MUD_ROUTES holds a route that can't be read"]),
            (["MUD_ROUTES": "a=h.example:1;a=h.example:2"], ["MUD_ROUTES holds a route that can't be read"]),
            (["MUD_TLS_PIN": "AAAA"], ["MUD_TLS_PIN holds something that isn't a pin"]),
            (
                ["MUD_TLS_PIN": "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="],
                ["MUD_TLS_PIN is set while no target is reached over TLS"]
            ),
            (
                ["TRUSTED_PROXY_CIDRS": "10.0.0.5/8"],
                ["TRUSTED_PROXY_CIDRS holds something that isn't an address range"]
            ),
            (["TRUSTED_PROXY_CIDRS": "10.0.0.0/8, 0.0.0.0/0"], ["TRUSTED_PROXY_CIDRS trusts every address there is"]),
            (["TRUSTED_PROXY_CIDRS": "::/0"], ["TRUSTED_PROXY_CIDRS trusts every address there is"]),
            (
                [
                    "TARGET_MODE": "arbitrary", "TARGET_PORTS": "4000-4999",
                    "MUD_ROUTES": "staging=staging.example:4001,admit=cert",
                ],
                [
                    "TARGET_MODE can't be used so: the route staging allows only some admission methods (admit=), and its"
                        + " port is in TARGET_PORTS: with TARGET_MODE=arbitrary other clients would reach it by another name of"
                        + " its host"
                ]
            ),
            (
                ["INBOUND_PROXY_PROTOCOL": "true"],
                ["INBOUND_PROXY_PROTOCOL is true, but no proxy is trusted"]
            ),
            (["TRUSTED_PROXY_HEADER": "Forwarded"], ["TRUSTED_PROXY_HEADER is set, but no proxy is trusted"]),
            (["PUBLIC_ORIGIN": "https://mud.example/"], ["PUBLIC_ORIGIN isn't the origin of a web page"]),
            (["PUBLIC_ORIGIN": "wss://mud.example"], ["PUBLIC_ORIGIN isn't the origin of a web page"]),
            (
                ["CONTROL_SOCKET_PATH": "/nonexistent/control.sock"],
                [
                    "CONTROL_SOCKET_PATH names a file that can't be written (/nonexistent: No such file or directory)"
                ]
            ),
            (["CONTROL_SOCKET_PATH": "/tmp"], ["CONTROL_SOCKET_PATH names something that is there and isn't a socket"]),
            (
                ["CONTROL_SOCKET_PATH": "/" + String(repeating: "a", count: 107)],
                ["CONTROL_SOCKET_PATH is longer than 107 bytes"]
            ),
        ] as [([String: String], [String])])
    func `impossible target settings prevent the start`(changes: [String: String], problems: [String]) {
        #expect(bench.problems(bench.least(changes)) == problems)
    }

    @Test(
        arguments: [
            ["TARGET_MODE": "allowlist", "TARGET_ALLOWLIST": "a.example:1, [2001:db8::1]:23"],
            ["TARGET_MODE": "arbitrary", "TARGET_PORTS": "23,4000-4999"],
            ["MUD_TLS_MODE": "required", "MUD_TLS_PIN": "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="],
            [
                "MUD_ROUTES": "a=h.example:1,tls=prefer",
                "MUD_TLS_PIN": "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
            ],
            ["INBOUND_PROXY_PROTOCOL": "true", "TRUSTED_PROXY_CIDRS": "10.0.0.0/8, 2001:db8::/32, 192.0.2.1"],
            ["CONTROL_SOCKET_PATH": "/" + String(repeating: "a", count: 106)],
            ["CONTROL_SOCKET_PATH": "/control.sock", "APPATTEST_TEAM_ID": nil, "APPATTEST_BUNDLE_ID": nil],
            ["TRUSTED_PROXY_CIDRS": "10.0.0.0/8", "TRUSTED_PROXY_HEADER": "X-Forwarded-For"],
            ["PUBLIC_ORIGIN": "https://mud.example:8443"],
        ] as [[String: String?]])
    func `compatible target settings are accepted`(changes: [String: String?]) {
        #expect(bench.problems(bench.least(changes)) == [])
    }

    private static let pin = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
    private static let arbitrary =
        "TARGET_MODE: is arbitrary: every admitted client can connect from this machine to any public address, on TARGET_PORTS."
    private static let systemPorts =
        "TARGET_PORTS: opens ports up to 1023 besides telnet's (23, 992): mail, web and other services listen there."
    private static let pinUnderPrefer =
        "MUD_TLS_PIN: isn't enforced if TLS is `prefer`: an attacker who blocks TLS gets plain text despite the pin."
        + " Use `required`."

    @Test(
        arguments: [
            (["TARGET_MODE": "arbitrary", "TARGET_PORTS": "23,992,1024,4000-4999"], [arbitrary]),
            (["TARGET_MODE": "arbitrary", "TARGET_PORTS": "22"], [arbitrary, systemPorts]),
            (["TARGET_MODE": "arbitrary", "TARGET_PORTS": "1023-1030"], [arbitrary, systemPorts]),
            (["TARGET_MODE": "arbitrary", "TARGET_PORTS": "3001-5000"], [arbitrary]),
            (
                ["TARGET_MODE": "arbitrary", "TARGET_PORTS": "3000-5000,4000"],
                [arbitrary, "TARGET_PORTS: opens 2001 ports: name those on which MUDs listen."]
            ),
            (["MUD_TLS_MODE": "prefer", "MUD_TLS_PIN": pin], [pinUnderPrefer]),
            (
                ["MUD_TLS_MODE": "required", "MUD_TLS_PIN": pin, "MUD_ROUTES": "a=h.example:1,tls=prefer"],
                [pinUnderPrefer]
            ),
            (["MUD_TLS_MODE": "required", "MUD_TLS_PIN": pin], []),
            (["MUD_TLS_MODE": "prefer"], []),
            (["TRUSTED_PROXY_CIDRS": "128.0.0.0/1"], []),
        ] as [([String: String], [String])])
    func `dangerous target settings cause a warning`(changes: [String: String], warnings: [String]) throws {
        #expect(try bench.warnings(bench.least(changes)) == warnings)
    }

    @Test func `routes are read with their options`() throws {
        let settings = bench.least([
            "MUD_ROUTES": "main=mud.example.org:4000;staging=127.0.0.1:4001,admit=cert,tls=required"
        ])
        let routes = try bench.load(settings).configuration.target.routes
        #expect(routes.map(\.name) == ["main", "staging"])
        #expect(routes.last?.options.admit?.methods == ["cert"])
        #expect(routes.last?.options.tls == .required)
    }

    @Test func `an error in a route is reported by the route's number only`() {
        let errors = bench.errors(bench.least(["MUD_ROUTES": "main=a.example:4000;b=secret-host"]))
        #expect(errors.map(\.remedy) == ["It says: entry 2: there is no port: write host:port."])
    }

    /// A wrong separator or value gives an error that names the valid ones.
    @Test(
        arguments: [
            (
                "main=a.example:1,staging=b.example:2",
                "there is no option staging: there are encoding, tls, proxy, mxp, mccp, compression and admit, and routes are separated by ;"
            ),
            (
                "a=a.example:1,admit=cert,ticket",
                "an option isn't name=value; several methods in admit= are joined by +"
            ),
            (
                "a=a.example:1,admit=certificate",
                "the option admit has no such value: write any, or some of ticket, app, signed, token, dev, passkey, cert, anonymous, joined by +"
            ),
            ("a=a.example:1,tls=on", "the option tls has no such value: plain, prefer, required"),
            (
                "a=a.example:1,encoding=utf9",
                "the option encoding has no such value: see TARGET_ENCODING for its values"
            ),
        ]) func `an error in a route lists the possible values`(routes: String, fault: String)
    {
        let errors = bench.errors(bench.least(["MUD_ROUTES": routes]))
        #expect(errors.map(\.remedy) == ["It says: entry 1: \(fault)."])
    }

    @Test func `an invalid address range is named by its number`() {
        let errors = bench.errors(bench.least(["TRUSTED_PROXY_CIDRS": "10.0.0.0/8, 192.0.2.0/24, 10.0.0.5/8"]))
        #expect(errors.count == 1 && errors[0].remedy.hasPrefix("It is entry 3. "))
    }

    @Test func `a CA beside a pin is an error, since it has no effect`() throws {
        let authority = try bench.file("ca.pem", bench.authority.certificate)
        let settings = bench.least([
            "MUD_TLS_MODE": "required", "MUD_TLS_PIN": "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
            "MUD_CA_PATH": authority,
        ])
        #expect(bench.problems(settings) == ["MUD_CA_PATH has no effect if TARGET_TLS_PIN is set"])
    }

    @Test func `a header name is case-insensitive`() throws {
        let settings = bench.least(["TRUSTED_PROXY_CIDRS": "10.0.0.1", "TRUSTED_PROXY_HEADER": "Forwarded"])
        #expect(try bench.load(settings).configuration.trustedProxies.header == .forwarded)
    }

    /// The running gateway's own socket doesn't prevent reading its settings again.
    @Test func `an existing socket is no obstacle`() throws {
        let path = bench.folder + "/control.sock"
        let socket = try ListeningSocketFile(path)
        #expect(bench.problems(bench.least(["CONTROL_SOCKET_PATH": socket.path])) == [])
    }

    @Test(
        arguments: [
            (["MUD_ROUTES": "a=h:1,admit=cert"], ["cert"]),
            (["MUD_ROUTES": "a=h:1,admit=cert+ticket;b=h:2,admit=app"], ["cert+ticket"]),
            (["MUD_ROUTES": "a=h:1,admit=cert+app;b=h:2,admit=any;c=h:3"], []),
            (["MUD_ROUTES": "a=h:1,admit=ticket", "CONTROL_SOCKET_PATH": "/control.sock"], []),
            (
                [
                    "MUD_ROUTES": "a=h:1,admit=app", "APPATTEST_TEAM_ID": nil, "APPATTEST_BUNDLE_ID": nil,
                    "CONTROL_SOCKET_PATH": "/control.sock",
                ], ["app"]
            ),
        ] as [([String: String?], [String])])
    func `a route that no client can use causes a warning`(changes: [String: String?], ways: [String]) throws {
        #expect(
            try bench.warnings(bench.least(changes)).filter { $0.hasPrefix("MUD_ROUTES") }
                == ways.map {
                    "MUD_ROUTES: no client can use the route a: its admission methods (\($0)) aren't configured."
                })
    }
}
