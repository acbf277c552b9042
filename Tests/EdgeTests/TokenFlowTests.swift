import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// A client library of the token dialect against the real binary, over TLS: the same requests, decoding and retries
    /// as an app's.
    @Suite struct TokenFlowTests {
        private struct Stage {
            let apple: SimulatedApple
            let edge: Edge
            let tls: TLSChoice
            let client: TokenDialectClient

            init(
                clockOffset: TimeInterval = 0, _ change: (GatewaySettings) -> GatewaySettings = { $0 }
            ) async throws {
                let certificates = try await DevCertificates.shared()
                let apple = try SimulatedApple()
                edge = try await Edge.start { change($0.appAttest(apple).tls(certificates)) }
                tls = TLSChoice(trustedCA: certificates.serverCA)
                self.apple = apple
                client = TokenDialectClient(edge.gateway, apple, tls: tls, clockOffset: clockOffset)
            }

            func another() -> TokenDialectClient { TokenDialectClient(edge.gateway, apple, tls: tls) }
        }

        @Test func `a first run registers, gets a token and opens WebSockets`() async throws {
            let stage = try await Stage()
            try await Edge.expectEcho(stage.client.openWebSocket())
            // The library's URL may have the scheme of HTTP too, and a query.
            try await Edge.expectEcho(stage.client.openWebSocket("/?dialect=raw", scheme: "https"))
            let exchanges = await stage.client.exchanges
            #expect(exchanges.map(\.path) == ["/attest/challenge", "/attest/register", "/token"])
            #expect(exchanges.map(\.answer.status) == [200, 200, 200])
        }

        /// Some decoders refuse members that they don't know.
        @Test func `answers have only the documented members`() async throws {
            let stage = try await Stage()
            _ = try await stage.client.currentAccessToken()
            let answers = await stage.client.exchanges.map(\.answer)
            let members = try answers.map { try Self.members($0) }
            #expect(members == [["exp", "nonce"], ["key_id", "registered"], ["access_token", "expires_in"]])
            let challenge = try #require(answers.first?.field("nonce"))
            #expect(challenge.count == 43 && !challenge.contains { "+/=".contains($0) })
        }

        @Test func `eight concurrent calls request one token`() async throws {
            let stage = try await Stage()
            let tokens = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<8 { group.addTask { try await stage.client.currentAccessToken() } }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(tokens.count == 1)
            #expect(await stage.client.exchanges.count == 3)
        }

        @Test func `a later start of the app asks for a token with a new challenge and doesn't register`() async throws
        {
            let stage = try await Stage()
            _ = try await stage.client.currentAccessToken()
            await stage.client.clearCachedState()
            try await Edge.expectEcho(stage.client.openWebSocket())
            let paths = await stage.client.exchanges.map(\.path)
            #expect(paths == ["/attest/challenge", "/attest/register", "/token", "/attest/challenge", "/token"])
        }

        /// The library sends the same assertion again, whose counter therefore must not have been used up.
        @Test(arguments: ["token", "always"])
        func `a demand for a nonce is answered with the same assertion`(demand: String) async throws {
            let stage = try await Stage { $0.setting("DPOP_NONCE", demand) }
            try await Edge.expectEcho(stage.client.openWebSocket())
            await stage.client.clearCachedState()
            try await Edge.expectEcho(stage.client.openWebSocket())
            let exchanges = await stage.client.exchanges
            #expect(
                exchanges.map(\.path) == [
                    "/attest/challenge", "/attest/register", "/token", "/token", "/attest/challenge", "/token",
                    "/token",
                ])
            #expect(exchanges.map(\.answer.status) == [200, 200, 401, 200, 200, 401, 200])
            let refused = exchanges[2]
            #expect(refused.answer["DPoP-Nonce"]?.isEmpty == false)
            #expect(refused.answer.field("error") == "use_dpop_nonce")
            let assertions = try exchanges[2...3].map { try Self.evidence($0, "assertion") }
            #expect(assertions[0] == assertions[1])
            #expect(exchanges[2].proof != exchanges[3].proof)
        }

        @Test func `a key that the gateway has forgotten is registered anew`() async throws {
            let stage = try await Stage()
            _ = try await stage.client.currentAccessToken()
            let exchange = try #require(await stage.client.exchanges.last)
            let key = try Self.evidence(exchange, "key_id")
            #expect(try await stage.edge.gateway.keys("forget", key).ending == .exited(0))
            await stage.client.clearCachedState()
            try await Edge.expectEcho(stage.client.openWebSocket())
            let exchanges = await stage.client.exchanges.dropFirst(3)
            #expect(
                exchanges.map(\.path) == [
                    "/attest/challenge", "/token", "/attest/challenge", "/attest/register", "/token",
                ])
            let refused = try #require(exchanges.first { $0.answer.status == 401 })
            #expect(refused.answer.field("error") == "attestation_failed")
            #expect(refused.answer.field("error_description")?.contains("registration required") == true)
        }

        /// On a first run the description is all that the app sees.
        @Test func `a failed first run reports the code to the app`() async throws {
            let stage = try await Stage { $0.setting("APPATTEST_BUNDLE_ID", "com.example.another") }
            let failure = await #expect(throws: TokenDialectClient.AttestationFailed.self) {
                try await stage.client.currentAccessToken()
            }
            #expect(failure?.message.hasPrefix("attestation_failed") == true, "\(String(describing: failure))")
        }

        @Test(arguments: [-120.0, 120.0])
        func `a wrong clock is reported with the server's time`(offset: TimeInterval) async throws {
            let stage = try await Stage(clockOffset: offset)
            let failure = await #expect(throws: TokenDialectClient.AttestationFailed.self) {
                try await stage.client.currentAccessToken()
            }
            let message = failure?.message ?? ""
            #expect(message.hasPrefix("clock_skew") && message.contains("20"), "\(message)")
        }

        @Test func `another device's access token is refused`() async throws {
            let stage = try await Stage()
            let thief = stage.another()
            _ = try await thief.currentAccessToken()
            let stolen = try await stage.client.authorizationHeaders(for: "/", method: "GET")["Authorization"]
            var headers = try await thief.authorizationHeaders(for: "/", method: "GET")
            headers["Authorization"] = stolen
            let refusal = try await stage.edge.gateway.refusal(
                Handshake(host: "localhost:\(stage.edge.gateway.port)").adding(headers), tls: stage.tls)
            #expect(refusal.status == 401 && refusal.field("error") == "invalid_token", "\(refusal)")
        }

        @Test func `a bound token without a proof is refused`() async throws {
            let stage = try await Stage()
            let headers = try await stage.client.authorizationHeaders(for: "/", method: "GET")
            let bare = Handshake(host: "localhost:\(stage.edge.gateway.port)")
                .adding("Authorization", try #require(headers["Authorization"]))
            let refusal = try await stage.edge.gateway.refusal(bare, tls: stage.tls)
            #expect(refusal.status == 401 && refusal.field("error") == "invalid_token", "\(refusal)")
        }

        /// All arrive at once, on different reactors.
        @Test func `exactly one of several concurrent upgrades with one proof is admitted`() async throws {
            let stage = try await Stage { $0.setting("FAILED_UPGRADES_PER_MINUTE", 100_000) }
            for _ in 0..<5 {
                let headers = try await stage.client.authorizationHeaders(for: "/", method: "GET")
                let gateway = stage.edge.gateway
                let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<8 {
                        group.addTask {
                            let handshake = Handshake(host: "localhost:\(gateway.port)").adding(headers)
                            switch try await gateway.attempt(handshake, tls: stage.tls) {
                            case .open: return 101
                            case .refused(let answer, _): return answer.status
                            }
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(statuses.sorted() == [101] + Array(repeating: 401, count: 7))
            }
        }

        private static func members(_ answer: ReceivedAnswer) throws -> [String] {
            let object = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
            return try #require(object).keys.sorted()
        }

        /// A member of `attestation` in the body of a request.
        private static func evidence(_ exchange: TokenDialectClient.Exchange, _ member: String) throws -> String {
            let body = try JSONSerialization.jsonObject(with: exchange.body) as? [String: Any]
            let evidence = try #require(body?["attestation"] as? [String: Any])
            return try #require(evidence[member] as? String)
        }
    }
}
