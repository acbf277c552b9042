import Foundation
import RelayCore
import Testing

@testable import GatewayServer

/// The settings about targets, tickets and proxies: what goes together, and what doesn't.
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
            (
                ["INBOUND_PROXY_PROTOCOL": "true"],
                ["INBOUND_PROXY_PROTOCOL is true, and no proxy is trusted"]
            ),
            (
                ["CONTROL_SOCKET_PATH": "/" + String(repeating: "a", count: 107)],
                ["CONTROL_SOCKET_PATH is longer than 107 bytes"]
            ),
        ] as [([String: String], [String])])
    func whatCannotBeStopsTheStart(changes: [String: String], problems: [String]) {
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
        ])
    func whatGoesTogetherIsAccepted(changes: [String: String]) {
        #expect(bench.problems(bench.least(changes)) == [])
    }

    @Test func routesAreReadWithTheirOptions() throws {
        let settings = bench.least([
            "MUD_ROUTES": "main=mud.example.org:4000;staging=127.0.0.1:4001,admit=cert,tls=required"
        ])
        let routes = try bench.load(settings).configuration.target.routes
        #expect(routes.map(\.name) == ["main", "staging"])
        #expect(routes.last?.options.admit == [.cert])
        #expect(routes.last?.options.tls == .required)
    }

    @Test func whatIsWrongWithARouteIsSaidByItsNumberAlone() {
        let errors = bench.errors(bench.least(["MUD_ROUTES": "main=a.example:4000;b=secret-host"]))
        #expect(errors.map(\.remedy) == ["It says: entry 2: there is no port: write host:port."])
    }
}
