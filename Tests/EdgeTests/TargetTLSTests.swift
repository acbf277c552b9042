import EdgeTestKit
import Testing

extension EdgeTests {
    /// The gateway's TLS toward its target, against another implementation of it.
    @Suite struct TargetTLSTests {
        private let certificates: DevCertificates

        init() async throws { certificates = try await DevCertificates.shared() }

        private func start(
            _ identity: DevCertificates.Identity?, _ mode: String = "required", readsHeader: Bool = false,
            _ change: (GatewaySettings) -> GatewaySettings
        ) async throws -> Edge {
            let target = try await TargetServer.start(.echo, tls: identity, readsHeader: readsHeader)
            let settings = GatewaySettings(targetPort: target.port).setting("MUD_TLS_MODE", mode)
                .setting("LOG_LEVEL", "debug")
            return Edge(target: target, gateway: try await GatewayProcess.start(change(settings)))
        }

        @Test func `a target of the configured CA is reached over TLS`() async throws {
            let edge = try await start(certificates.server) { $0.setting("MUD_CA_PATH", certificates.serverCA) }
            let socket = try await edge.gateway.open()
            try await Edge.expectEcho(socket)
            try await Edge.expectEcho(socket, String(repeating: "north ", count: 10_000))
            try await edge.gateway.logLine("target connected", "targetTLS=TLSv1.3")
            #expect(try await socket.close().code == 1000)
        }

        @Test func `a pinned key needs no CA`() async throws {
            let identity = certificates.selfSignedClient
            let pin = try identity.pin()
            let edge = try await start(identity) { $0.setting("MUD_TLS_PIN", pin) }
            try await Edge.expectEcho(edge.gateway.open())
        }

        @Test func `a target without a trusted certificate is refused`() async throws {
            let wrongPin = try certificates.server.pin()
            for setting in [("MUD_CA_PATH", certificates.clientCA), ("MUD_TLS_PIN", wrongPin)] {
                let edge = try await start(certificates.selfSignedClient, "prefer") {
                    $0.setting(setting.0, setting.1)
                }
                #expect(try await edge.gateway.open().closedByServer().code == 1014)
                try await edge.gateway.logLine("target connection failed")
            }
        }

        @Test func `the target gets the client's address before TLS`() async throws {
            let edge = try await start(certificates.server, readsHeader: true) {
                $0.setting("MUD_CA_PATH", certificates.serverCA).setting("PROXY_PROTOCOL", "v2")
            }
            try await Edge.expectEcho(edge.gateway.open())
            let header = try await edge.target.connection().header()
            #expect(header.starts(with: Array("\r\n\r\n\0\r\nQUIT\n".utf8) + [0x21, 0x11]))
            // From the client's address to the target's.
            #expect(header[16..<24] == [127, 0, 0, 1, 127, 0, 0, 1])
            #expect(Int(header[26]) << 8 | Int(header[27]) == edge.target.port)
        }

        @Test func `a target without TLS is reached in plain text where that is allowed`() async throws {
            let target = try await TargetServer.start(.scripted)
            let gateway = try await GatewayProcess.start(
                GatewaySettings(targetPort: target.port).setting("MUD_TLS_MODE", "prefer")
                    .setting("MUD_CA_PATH", certificates.serverCA).setting("LOG_LEVEL", "debug"))
            let socket = try await gateway.open()
            try await target.connection(0).send("login: ")
            try await target.connection(1).send("login: ")
            #expect(try await socket.receiveText(7) == "login: ")
            try await gateway.logLine("target connected", "targetTLS=none", "fallback=\"the target doesn't speak TLS\"")
        }
    }
}
