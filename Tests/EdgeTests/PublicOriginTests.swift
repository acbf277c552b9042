import EdgeTestKit
import Foundation
import SettingsTestKit
import Testing

extension EdgeTests {
    /// The origins for which proofs are good: those that the server's certificate names, or PUBLIC_ORIGIN.
    @Suite struct PublicOriginTests {
        private let apple: SimulatedApple

        init() throws { apple = try SimulatedApple() }

        private func start(_ change: (GatewaySettings) -> GatewaySettings = { $0 }) async throws -> Edge {
            let certificates = try await DevCertificates.shared()
            return try await Edge.start { change($0.appAttest(apple).tls(certificates)) }
        }

        private func makeClient(_ edge: Edge, _ authority: String, host: String? = nil) throws -> TokenClient {
            var client = try TokenClient(apple, at: edge.gateway)
            (client.authority, client.host) = (authority, host)
            return client
        }

        @Test func `a proof for a host that the certificate doesn't name opens nothing`() async throws {
            let edge = try await start()
            let port = edge.gateway.port
            for (authority, host) in [
                ("evil.example", nil), ("evil.example:\(port)", nil), ("localhost", nil),
                ("localhost:\(port)", "evil.example"), ("evil.example", "localhost:\(port)"),
            ] as [(String, String?)] {
                let stranger = try makeClient(edge, authority, host: host)
                let nonce = try await stranger.challenge()
                expectRefusal(try await stranger.register(nonce: nonce), 400, "invalid_dpop_proof")
                expectRefusal(try await stranger.token(nonce: nonce), 400, "invalid_dpop_proof")
            }
            var own = try makeClient(edge, "localhost:\(port)")
            let token = try await own.firstToken()
            try await Edge.expectEcho(edge.gateway.open(own.handshake(token)))
            (own.authority, own.host) = ("evil.example:\(port)", nil)
            let refused = try await edge.gateway.refusal(own.handshake(token))
            expectRefusal(refused, 401, "invalid_dpop_proof")
            let line = try await edge.gateway.auditLine(try #require(refused.requestID))
            #expect(line.contains(#""check":"htu""#) && line.contains("evil.example") && line.contains("localhost"))
            (own.authority, own.host) = ("127.0.0.1:\(port)", nil)
            try await Edge.expectEcho(edge.gateway.open(own.handshake(token)))
        }

        @Test func `the issuer is what the certificate and the port say`() async throws {
            let edge = try await start()
            let issuer = "https://localhost:\(edge.gateway.port)"
            let metadata = try await edge.gateway.get("/.well-known/oauth-authorization-server")
            #expect(metadata.field("issuer") == issuer && metadata.field("token_endpoint") == issuer + "/token")
            let client = try makeClient(edge, "localhost:\(edge.gateway.port)")
            let claims = try TokenClient.claims(of: await client.firstToken())
            #expect(claims["iss"] as? String == issuer && claims["aud"] as? String == issuer)
        }

        /// Tokens in flight are refused: what they name isn't the gateway's any more.
        @Test func `a new certificate with other names counts from the reload on`() async throws {
            let folder = try TemporaryDirectory()
            let authority = try TestAuthority(name: "Names", now: .now)
            func write(_ hosts: [String]) throws {
                let server = try authority.issue("server", now: .now, hosts: hosts)
                _ = try folder.write(server.certificate, to: "server.pem")
                _ = try folder.write(server.key, to: "server.key")
            }
            try write(["old.example", "both.example"])
            let edge = try await Edge.start {
                $0.appAttest(apple).setting("INBOUND_TLS_MODE", "required")
                    .setting("TLS_CERT_PATH", folder.file("server.pem")).setting(
                        "TLS_KEY_PATH", folder.file("server.key"))
            }
            let port = edge.gateway.port
            var client = try makeClient(edge, "old.example:\(port)")
            let token = try await client.firstToken()
            try await Edge.expectEcho(edge.gateway.open(client.handshake(token)))
            try write(["new.example", "both.example"])
            try await edge.gateway.reload()
            _ = try await edge.gateway.errorLine("former issuer", "https://new.example:\(port)")
            expectRefusal(try await edge.gateway.refusal(client.handshake(token)), 401, "invalid_token")
            let nonce = try await client.challenge()
            expectRefusal(try await client.token(nonce: nonce), 400, "invalid_dpop_proof")
            client.authority = "both.example:\(port)"
            let renewed = try TokenClient.accessToken(in: await client.token(nonce: nonce))
            try await Edge.expectEcho(edge.gateway.open(client.handshake(renewed)))
            #expect(try TokenClient.claims(of: renewed)["iss"] as? String == "https://new.example:\(port)")
        }

        @Test func `where TLS ends before the gateway there are no tokens without PUBLIC_ORIGIN`() async throws {
            let edge = try await Edge.start { $0.appAttest(apple) }
            _ = try await edge.gateway.errorLine("PUBLIC_ORIGIN", "public_origin_required")
            let checked = try await GatewayProcess.run(["check-config"], edge.gateway.settings)
            #expect(checked.ending == .exited(0) && checked.errorText.contains("public_origin_required"), "\(checked)")
            let code = "public_origin_required"
            for path in ["/.well-known/jwks.json", "/.well-known/oauth-authorization-server"] {
                expectRefusal(try await edge.gateway.get(path), 404, code)
            }
            let challenge = try await edge.gateway.post("/attest/challenge", #"{"purpose":"token"}"#)
            expectRefusal(challenge, 404, code)
            expectRefusal(try await edge.gateway.post("/token", "{}"), 404, code)
            let client = try makeClient(edge, "localhost")
            let nonce = Data(repeating: 7, count: 32).base64EncodedString().replacing("=", with: "")
            expectRefusal(try await client.register(nonce: nonce), 404, code)
            expectRefusal(try await client.token(nonce: nonce), 404, code)
            expectRefusal(try await edge.gateway.refusal(client.handshake("eyJ.a.b")), 404, code)
            // The other dialect needs no origin.
            _ = try await edge.gateway.challenge()
            let device = try await apple.enrolledDevice(at: edge.gateway)
            try await Edge.expectEcho(edge.gateway.open(device.handshake(at: edge.gateway)))
        }
    }
}
