import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Access tokens and their proofs when the process ends without a word, and when another one takes over.
    @Suite struct TokenRestartTests {
        let apple: SimulatedApple

        init() throws { apple = try SimulatedApple() }

        /// After a kill, with the same files and on another port.
        private func restarted(_ gateway: GatewayProcess) async throws -> GatewayProcess {
            try await gateway.killNow()
            return try await GatewayProcess.start(gateway.settings, in: gateway.directory)
        }

        @Test(arguments: [-20, 25])
        func `a phone with another time registers and gets a token right after a kill`(offset: Int) async throws {
            let edge = try await Edge.start { $0.appAttest(apple).setting("PUBLIC_ORIGIN", "http://localhost") }
            _ = try await TokenClient(apple, at: edge.gateway).firstToken()
            var client = try TokenClient(apple, at: try await restarted(edge.gateway))
            client.clockOffset = offset
            let token = try await client.firstToken()
            let demand = try await client.gateway.refusal(client.handshake(token))
            expectRefusal(demand, 401, "use_dpop_nonce")
            #expect(demand["www-authenticate"]?.contains(#"error="use_dpop_nonce""#) == true, "\(demand)")
            let nonce = try #require(demand["dpop-nonce"])
            try await Edge.expectEcho(client.gateway.open(client.handshake(token, serverNonce: nonce)))
        }

        @Test(arguments: [-10, 0, 10, 25])
        func `a used proof isn't accepted after a kill, whatever its time`(offset: Int) async throws {
            let edge = try await Edge.start { $0.appAttest(apple).setting("PUBLIC_ORIGIN", "http://localhost") }
            var client = try TokenClient(apple, at: edge.gateway)
            let token = try await client.firstToken()
            client.clockOffset = offset
            let used = try client.handshake(token)
            try await Edge.expectEcho(edge.gateway.open(used))
            let gateway = try await restarted(edge.gateway)
            for _ in 0..<3 { expectRefusal(try await gateway.refusal(used), 401, "use_dpop_nonce") }
            let again = try await restarted(gateway)
            let nonce = try #require(try await again.refusal(used)["dpop-nonce"])
            client = client.moved(to: again)
            let fresh = try client.handshake(token, serverNonce: nonce)
            try await Edge.expectEcho(again.open(fresh))
            expectRefusal(try await again.refusal(fresh), 401, "invalid_dpop_proof")
        }

        @Test func `a development token needs a nonce right after a kill`() async throws {
            let edge = try await Edge.start {
                $0.appAttest(apple).setting("PUBLIC_ORIGIN", "http://localhost").setting("ALLOW_DEV_TOKENS", "true")
            }
            let issued = try await edge.gateway.issueDevelopmentToken()
            var client = try TokenClient(apple, at: edge.gateway)
            #expect(try await client.requestToken(for: issued.token).status == 200)
            client = client.moved(to: try await restarted(edge.gateway))
            let demand = try await client.requestToken(for: issued.token)
            expectRefusal(demand, 401, "use_dpop_nonce")
            let nonce = try #require(demand["dpop-nonce"])
            #expect(try await client.requestToken(for: issued.token, nonce: nonce).status == 200)
        }

        @Test func `an upgrade demands nothing of clients, and knows what they have used`() async throws {
            let directory = try TemporaryDirectory()
            let edge = try await Edge.start {
                $0.appAttest(apple).setting("PUBLIC_ORIGIN", "http://localhost").setting(
                    "CONTROL_SOCKET_PATH", directory.file("control.sock"))
            }
            var client = try TokenClient(apple, at: edge.gateway)
            let token = try await client.firstToken()
            client.clockOffset = -20
            let used = try client.handshake(token)
            try await Edge.expectEcho(edge.gateway.open(used))
            let nonce = try await client.challenge()
            let successor = try await Successor.start(replacing: edge.gateway)
            expectRefusal(try await edge.gateway.refusal(used), 401, "invalid_dpop_proof")
            try await Edge.expectEcho(edge.gateway.open(client.handshake(token)))
            #expect(try await client.token(nonce: nonce).status == 200, "\(successor.report)")
        }
    }
}
