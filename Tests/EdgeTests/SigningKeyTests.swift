import Crypto
import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// The keys that sign access tokens: kept, published, rotated, revoked.
    @Suite struct SigningKeyTests {
        let apple: SimulatedApple

        init() throws {
            apple = try SimulatedApple()
        }

        private func start(_ settings: [String: String] = [:]) async throws -> Edge {
            try await Edge.start { base in
                settings.reduce(base.appAttest(apple).setting("PUBLIC_ORIGIN", "http://localhost")) {
                    $0.setting($1.key, $1.value)
                }
            }
        }

        private func signingKeys(_ gateway: GatewayProcess, _ arguments: String...) async throws -> ChildOutput {
            try await GatewayProcess.run(["signing-keys"] + arguments + ["--store", gateway.storePath])
        }

        @Test func `a backend verifies a token offline`() async throws {
            let edge = try await start()
            let token = try await TokenClient(apple, at: edge.gateway).firstToken()
            let metadata = try await json(edge.gateway.get("/.well-known/oauth-authorization-server"))
            let issuer = try #require(metadata["issuer"] as? String)
            #expect(issuer == "http://localhost")
            #expect(metadata["jwks_uri"] as? String == issuer + "/.well-known/jwks.json")
            #expect(metadata["token_endpoint"] as? String == issuer + "/token")
            #expect(metadata["dpop_signing_alg_values_supported"] as? [String] == ["ES256"])
            let answer = try await edge.gateway.get("/.well-known/jwks.json")
            #expect(answer["cache-control"] == "public, max-age=3600")
            let keys = try #require(try json(answer)["keys"] as? [[String: String]])
            let header = try self.header(of: token)
            #expect(header["typ"] == "at+jwt" && header["alg"] == "ES256")
            let key = try #require(keys.first { $0["kid"] == header["kid"] })
            #expect(key["d"] == nil && key["kty"] == "EC" && key["crv"] == "P-256" && key["use"] == "sig")
            let point = try #require(bytes(key["x"] ?? "")) + (try #require(bytes(key["y"] ?? "")))
            let parts = token.split(separator: ".").map(String.init)
            let signature = try P256.Signing.ECDSASignature(rawRepresentation: try #require(bytes(parts[2])))
            let signed = Data((parts[0] + "." + parts[1]).utf8)
            #expect(try P256.Signing.PublicKey(rawRepresentation: point).isValidSignature(signature, for: signed))
        }

        @Test func `tokens stay valid across a kill and a restart`() async throws {
            let edge = try await start()
            var client = try TokenClient(apple, at: edge.gateway)
            let token = try await client.firstToken()
            let nonce = try await client.challenge()
            let spent = try client.handshake(token)
            try await Edge.expectEcho(edge.gateway.open(spent))
            try await edge.gateway.killNow()
            let gateway = try await GatewayProcess.start(edge.gateway.settings, in: edge.gateway.directory)
            client = client.moved(to: gateway)
            let demand = try await gateway.refusal(spent)
            #expect(demand.code == "use_dpop_nonce")
            let serverNonce = try #require(demand["dpop-nonce"])
            try await Edge.expectEcho(gateway.open(client.handshake(token, serverNonce: serverNonce)))
            // A challenge ends with its process; the counter doesn't.
            #expect(try await client.token(nonce: nonce).code == "nonce_expired")
            let again = try TokenClient.accessToken(in: await client.token(nonce: client.challenge()))
            try await Edge.expectEcho(gateway.open(client.handshake(again, serverNonce: serverNonce)))
        }

        @Test func `a server nonce of before a restart is answered with the next one`() async throws {
            let edge = try await start(["DPOP_NONCE": "token"])
            var client = try TokenClient(apple, at: edge.gateway)
            let nonce = try await client.challenge()
            #expect(try await client.register(nonce: nonce).status == 200)
            let serverNonce = try #require(try await client.token(nonce: nonce)["dpop-nonce"])
            try await edge.gateway.killNow()
            let gateway = try await GatewayProcess.start(edge.gateway.settings, in: edge.gateway.directory)
            client = client.moved(to: gateway)
            let challenge = try await client.challenge()
            let assertion = try client.assertion(nonce: challenge)
            let demand = try await client.token(nonce: challenge, assertion: assertion, serverNonce: serverNonce)
            #expect(demand.status == 401 && demand.code == "use_dpop_nonce", "\(demand)")
            let next = try #require(demand["dpop-nonce"])
            let answer = try await client.token(nonce: challenge, assertion: assertion, serverNonce: next)
            #expect(answer.status == 200, "\(answer)")
        }

        @Test func `a rotation publishes first and keeps tokens valid`() async throws {
            let edge = try await start()
            let client = try TokenClient(apple, at: edge.gateway)
            let token = try await client.firstToken()
            let first = try #require(try header(of: token)["kid"])
            let refused = try await signingKeys(edge.gateway, "rotate", "--after", "2592001")
            #expect(refused.ending == .exited(64) && refused.errorText.contains("--after is from 0"), "\(refused)")
            let rotated = try await signingKeys(edge.gateway, "rotate", "--after", "1")
            #expect(rotated.ending == .exited(0), "\(rotated)")
            let second = try #require(rotated.outputText.firstMatch(of: /published ([A-Za-z0-9_-]{43})/)).1
            let published = try await keyIDs(edge.gateway) { $0.count == 2 }
            #expect(Set(published) == [first, String(second)])
            let newer = try await tokenSigned(by: String(second), client)
            for token in [token, newer] { try await Edge.expectEcho(edge.gateway.open(client.handshake(token))) }
            let list = try await signingKeys(edge.gateway, "list")
            #expect(list.outputText.contains("\(first)  kept"), "\(list)")
            #expect(list.outputText.contains("\(second)  signing"), "\(list)")
        }

        @Test func `revoking a key closes its sessions and refuses its tokens`() async throws {
            let edge = try await start()
            let client = try TokenClient(apple, at: edge.gateway)
            let token = try await client.firstToken()
            let socket = try await edge.gateway.open(client.handshake(token))
            let byAssertion = try await edge.gateway.open(client.device.handshake(at: edge.gateway))
            let kid = try #require(try header(of: token)["kid"])
            #expect(try await signingKeys(edge.gateway, "revoke", kid).ending == .exited(0))
            #expect(try await socket.closedByServer().reason == "device_blocked")
            #expect(try await edge.gateway.refusal(client.handshake(token)).code == "invalid_token")
            // Whoever has shown something else isn't concerned, and a new key signs at once.
            try await Edge.expectEcho(byAssertion)
            let next = try TokenClient.accessToken(in: await client.token(nonce: client.challenge()))
            #expect(try header(of: next)["kid"] != kid)
            try await Edge.expectEcho(edge.gateway.open(client.handshake(next)))
            #expect(try await keyIDs(edge.gateway) { $0.count == 1 } != [kid])
            #expect(try await signingKeys(edge.gateway, "list").outputText.contains("\(kid)  revoked"))
            #expect(try await signingKeys(edge.gateway, "revoke", kid).ending == .exited(1))
        }

        @Test func `revoking a device closes the sessions opened with its tokens`() async throws {
            let edge = try await start()
            let client = try TokenClient(apple, at: edge.gateway)
            let other = try TokenClient(apple, at: edge.gateway)
            let socket = try await edge.gateway.open(client.handshake(client.firstToken()))
            let otherSocket = try await edge.gateway.open(other.handshake(other.firstToken()))
            #expect(try await edge.gateway.keys("revoke", client.device.keyID).ending == .exited(0))
            #expect(try await socket.closedByServer().reason == "device_blocked")
            try await Edge.expectEcho(otherSocket)
        }

        @Test func `a missing store of signing keys is an error`() async throws {
            let path = try TemporaryDirectory().file("none.sqlite")
            for command in [["list"], ["rotate"], ["revoke", "x"]] {
                let output = try await GatewayProcess.run(["signing-keys"] + command + ["--store", path])
                #expect(output.ending == .exited(1) && output.errorText.contains("no signing keys yet"), "\(output)")
            }
        }

        // MARK: Parts

        private func header(of token: String) throws -> [String: String] {
            let data = try #require(bytes(String(token.prefix { $0 != "." })))
            return try JSONDecoder().decode([String: String].self, from: data)
        }

        private func json(_ answer: ReceivedAnswer) throws -> [String: Any] {
            #expect(answer.status == 200, "\(answer)")
            return try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
        }

        private func bytes(_ base64URL: String) -> Data? {
            let standard = base64URL.replacing("-", with: "+").replacing("_", with: "/")
            return Data(base64Encoded: standard + String(repeating: "=", count: (4 - standard.count % 4) % 4))
        }

        /// Asks until the gateway has noticed what another process wrote.
        private func keyIDs(_ gateway: GatewayProcess, until isMeant: ([String]) -> Bool) async throws -> [String] {
            try await asking { () -> [String]? in
                let keys = try json(await gateway.get("/.well-known/jwks.json"))["keys"] as? [[String: String]] ?? []
                let found = keys.compactMap { $0["kid"] }
                return isMeant(found) ? found : nil
            }
        }

        private func tokenSigned(by kid: String, _ client: TokenClient) async throws -> String {
            _ = try await asking { () -> Bool? in
                let list = try await signingKeys(client.gateway, "list")
                return list.outputText.contains("\(kid)  signing") ? true : nil
            }
            let token = try TokenClient.accessToken(in: await client.token(nonce: client.challenge()))
            #expect(try header(of: token)["kid"] == kid)
            return token
        }

        private func asking<Answer>(_ question: () async throws -> Answer?) async throws -> Answer {
            let end = ContinuousClock.now + .seconds(20)
            while ContinuousClock.now < end {
                if let answer = try await question() { return answer }
            }
            throw EdgeTestError("not in time")
        }
    }
}
