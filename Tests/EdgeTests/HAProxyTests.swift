import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// The example in `config/` with the real HAProxy, in front of two gateways.
    @Suite struct HAProxyTests {
        @Test func `the client's address and certificate reach the gateway`() async throws {
            let house = try await House { $0.setting("REQUIRE_APP_AUTH", "true") }
            let sockets = [
                try await house.proxy.open(as: house.certificates.client),
                try await house.proxy.open(as: house.certificates.client),
            ]
            for socket in sockets { try await Edge.expectEcho(socket) }
            // The second client found the first one's gateway busier.
            let lines = try await house.admissions()
            #expect(lines.map(\.count) == [1, 1], "\(lines)")
            for line in lines.joined() {
                #expect(line.contains("\"127.0.0.1\"") && line.contains("debug_certificate"), "\(line)")
            }
            let stranger = try await house.proxy.connect()
            guard case .refused(let answer, _) = try await TestWebSocket.attempt(Handshake(), on: stranger) else {
                throw EdgeTestError("a stranger was admitted")
            }
            expectRefusal(answer, 401, "app_auth_required")
        }

        @Test func `a killed gateway costs its own sessions and no new ones`() async throws {
            let house = try await House()
            let sockets = [try await house.proxy.open(), try await house.proxy.open()]
            for socket in sockets { try await Edge.expectEcho(socket) }
            try await house.gateways[0].killNow()
            // Before and after HAProxy has noticed.
            var others: [TestWebSocket] = []
            for _ in 0..<4 { others.append(try await house.proxy.open()) }
            try await house.proxy.takesOut(1)
            for _ in 0..<4 { others.append(try await house.proxy.open()) }
            for socket in others { try await Edge.expectEcho(socket) }
            var survivors = 0
            for socket in sockets {
                try? await socket.send(text: "look")
                if (try? await socket.receiveText(4)) == "look" { survivors += 1 }
            }
            #expect(survivors == 1)
        }

        @Test func `a draining gateway gets no new connections while its sessions go on`() async throws {
            let house = try await House {
                $0.setting("SHUTDOWN_GRACE_MS", 600_000).setting("SHUTDOWN_DEADLINE_MS", 3_600_000)
            }
            let sockets = [try await house.proxy.open(), try await house.proxy.open()]
            for socket in sockets { try await Edge.expectEcho(socket) }
            house.gateways[0].terminate()
            try await house.proxy.takesOut(1)
            var others: [TestWebSocket] = []
            for _ in 0..<6 { others.append(try await house.proxy.open()) }
            for socket in sockets + others { try await Edge.expectEcho(socket) }
            #expect(try await house.admissions().map(\.count) == [1, 7])
        }

        @Test func `a signed upgrade reaches the gateway with its fields`() async throws {
            let (apple, certificates) = (try SimulatedApple(), try await DevCertificates.shared())
            let target = try await TargetServer.start(.echo)
            let first = try await GatewayProcess.start(
                GatewaySettings(targetPort: target.port).appAttest(apple).setting("SIGNED_REQUESTS", "on"))
            let client = try SignedClient(apple, at: first)
            #expect(try await client.register().status == 201)
            _ = try await first.stop()
            let gateway = try await GatewayProcess.start(
                first.settings.tls(certificates).setting("INBOUND_PROXY_PROTOCOL", "true")
                    .setting("TRUSTED_PROXY_CIDRS", HAProxyProcess.source), in: first.directory)
            let proxy = try await HAProxyProcess.start(before: [gateway])
            let connection = try await proxy.connect()
            try await connection.send("GET /challenge HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let challenge = try #require(try await connection.answer().field("challenge"))
            let handshake = Handshake().adding(try await client.fields(over: challenge))
            guard case .open(let socket) = try await TestWebSocket.attempt(handshake, on: proxy.connect()) else {
                throw EdgeTestError("a signed upgrade was refused")
            }
            try await Edge.expectEcho(socket)
            try await gateway.auditLine("\"upgrade\"", "signed_request", client.device.keyID)
            guard case .refused(let again, _) = try await TestWebSocket.attempt(handshake, on: proxy.connect()) else {
                throw EdgeTestError("a signature was admitted twice")
            }
            expectRefusal(again, 401, "invalid_nonce")
            #expect(again["x-appattest-next-challenge"] != nil)
        }

        // MARK: Support

        private struct House {
            let certificates: DevCertificates
            let target: TargetServer
            let gateways: [GatewayProcess]
            let proxy: HAProxyProcess

            init(_ change: (GatewaySettings) -> GatewaySettings = { $0 }) async throws {
                certificates = try await DevCertificates.shared()
                target = try await TargetServer.start(.echo)
                let settings = change(
                    GatewaySettings(targetPort: target.port).tls(certificates).clientCA(certificates)
                        .setting("INBOUND_PROXY_PROTOCOL", "true").setting("TRUSTED_PROXY_CIDRS", HAProxyProcess.source)
                )
                gateways = [try await GatewayProcess.start(settings), try await GatewayProcess.start(settings)]
                proxy = try await HAProxyProcess.start(before: gateways)
            }

            /// Each gateway's audit lines of admissions. Each is written before its client is answered, so clients that
            /// are connected have theirs.
            func admissions() async throws -> [[String]] {
                gateways.map { gateway in
                    gateway.output.outputLines.filter {
                        $0.contains("\"event\":\"upgrade\"") && $0.contains("\"outcome\":\"admitted\"")
                    }
                }
            }
        }
    }
}
