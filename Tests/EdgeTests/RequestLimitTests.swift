import EdgeTestKit
import Testing

extension EdgeTests {
    /// Requests of every kind are limited by address. With one a second, four may come at once.
    @Suite struct RequestLimitTests {
        private static let health = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"

        struct Kind: Sendable, CustomTestStringConvertible {
            let testDescription: String
            let text: String
            /// The answer to a request within the limit.
            let status: Int
        }

        static let kinds = [
            Kind(testDescription: "health", text: health, status: 200),
            Kind(testDescription: "unknown path", text: "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n", status: 404),
            Kind(testDescription: "web client", text: "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", status: 200),
            Kind(
                testDescription: "malformed", text: "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
                status: 400),
            Kind(
                testDescription: "challenge", text: "GET /attest/challenge HTTP/1.1\r\nHost: localhost\r\n\r\n",
                status: 200),
            Kind(testDescription: "registration", text: GatewayProcess.post("/attest/register", "{}"), status: 400),
            Kind(testDescription: "ticket", text: GatewayProcess.post("/ticket", ""), status: 401),
            Kind(testDescription: "upgrade", text: Handshake().text, status: 401),
            Kind(
                testDescription: "upgrade of an unknown path", text: Handshake().path("/nowhere").text, status: 404),
        ]

        private func start(_ change: (GatewaySettings) -> GatewaySettings = { $0 }) async throws -> Edge {
            let apple = try SimulatedApple()
            return try await Edge.start {
                // No other limit may answer 429.
                change(
                    $0.appAttest(apple).setting("ENABLE_WEB_CLIENT", "true").setting(
                        "FAILED_UPGRADES_PER_MINUTE", 10_000
                    )
                    .setting("CHALLENGES_PER_MINUTE", 100_000)
                    .setting("REQUESTS_PER_SECOND_PER_ADDRESS", 1)
                    // All connections are open before the first request.
                    .setting("REQUEST_TIMEOUT_MS", 120_000))
            }
        }

        /// Sends them all at once, each on its own connection; nil if it was closed without an answer.
        private func answers(to texts: [String], at gateway: GatewayProcess) async throws -> [ReceivedAnswer?] {
            var connections: [RawConnection] = []
            for _ in texts { connections.append(try await gateway.connect()) }
            for (connection, text) in zip(connections, texts) { connection.post(Array(text.utf8)) }
            var answers: [ReceivedAnswer?] = []
            for connection in connections { answers.append(try await connection.answerOrEnd()) }
            return answers
        }

        @Test(arguments: kinds)
        func `a request is served within the limit and refused above it`(kind: Kind) async throws {
            let edge = try await start()
            let answers = try await answers(to: Array(repeating: kind.text, count: 20), at: edge.gateway)
            let refused = answers.compactMap { $0 }.filter { $0.status == 429 }
            #expect(answers.compactMap { $0 }.filter { $0.status == kind.status }.count >= 4)
            #expect(answers.allSatisfy { $0?.status == kind.status || $0?.status == 429 }, "\(answers)")
            for answer in refused {
                expectRefusal(answer, 429, "rate_limited")
                #expect(answer["connection"] == "close")
                let wait = try #require(answer["retry-after"].flatMap { Int($0) })
                #expect((1...4).contains(wait))
            }
            #expect(!refused.isEmpty)
        }

        @Test func `on a kept-alive connection the refusal is the last answer`() async throws {
            let edge = try await start()
            let connection = try await edge.gateway.connect()
            connection.post(Array(String(repeating: Self.health, count: 200).utf8))
            var served = 0
            while case let answer = try await connection.answer(), answer.status == 200 { served += 1 }
            #expect(served >= 4 && served < 200)
            #expect(try await connection.receiveToEnd().isEmpty)
        }

        /// Twenty refusals for every four requests that were served, and no more.
        @Test func `far above the limit nothing is answered`() async throws {
            let edge = try await start()
            let answers = try await answers(to: Array(repeating: Self.health, count: 200), at: edge.gateway)
            let served = answers.count { $0?.status == 200 }
            let refused = answers.count { $0?.status == 429 }
            let closed = answers.count { $0 == nil }
            #expect(served + refused + closed == 200)
            #expect(
                served >= 4 && refused >= 20 && refused <= 5 * served && closed > 0, "\(served) \(refused) \(closed)")
        }

        /// By the client's own address, even behind a proxy and for malformed requests: attackers can't exclude a
        /// monitor on the gateway's machine.
        @Test func `a flood from one address doesn't limit another`() async throws {
            let edge = try await start { $0.setting("TRUSTED_PROXY_CIDRS", "127.0.0.1") }
            let stranger = "Host: localhost\r\nX-Forwarded-For: 203.0.113.9\r\n"
            let flood = [
                "GET /health HTTP/1.1\r\n\(stranger)\r\n", "GET / HTTP/1.1\r\n\(stranger)Content-Length: x\r\n\r\n",
            ]
            let answers = try await answers(to: Array(repeating: flood, count: 60).flatMap { $0 }, at: edge.gateway)
            #expect(answers.contains { $0 == nil })
            try await edge.expectHealthy()
            let neighbour = try await edge.gateway.request(
                "GET /health HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 203.0.113.10\r\n\r\n")
            #expect(neighbour.status == 200)
        }
    }
}
