import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    @Suite struct ChallengeEndpointTests {
        @Test func `a challenge has the form that the guide's client decodes`() async throws {
            let edge = try await start()
            let answer = try await edge.gateway.get("/attest/challenge")
            #expect(answer.status == 200)
            #expect(answer["content-type"]?.hasPrefix("application/json") == true)
            #expect(answer["cache-control"] == "no-store")
            let fields = try #require(answer.strings)
            #expect(Set(fields.keys) == ["nonce", "expires"])
            let nonce = try #require(fields["nonce"])
            #expect(nonce.wholeMatch(of: /[0-9a-f]{64}/) != nil)
            let expires = try #require(fields["expires"].flatMap { Double($0) }) / 1000
            let now = Date().timeIntervalSince1970
            #expect(expires > now && expires <= now + 61)
        }

        @Test func `every challenge is different`() async throws {
            let edge = try await start()
            var seen: Set<String> = []
            for _ in 0..<20 { seen.insert(try await edge.gateway.challenge()) }
            #expect(seen.count == 20)
        }

        @Test(arguments: ["/attest/challenge/", "//attest/challenge", "//attest/challenge/"])
        func `a trailing slash reaches the same endpoint`(path: String) async throws {
            let edge = try await start()
            let answer = try await edge.gateway.get(path)
            #expect(answer.status == 200)
            #expect(answer.strings?["nonce"]?.count == 64)
        }

        @Test func `without App Attest the endpoint doesn't exist`() async throws {
            let edge = try await Edge.start()
            let challenge = try await edge.gateway.get("/attest/challenge")
            #expect(challenge.status == 404)
            let register = try await edge.gateway.post("/attest/register", "{}")
            #expect(register.status == 404)
            #expect(register.errorText == "Server not configured for App Attest")
        }

        @Test func `other paths are answered with 404`() async throws {
            let edge = try await start()
            for path in ["/attest", "/attest/", "/attest/other", "/healthy", "/health/x", "/%61ttest/challengeX"] {
                #expect(try await edge.gateway.get(path).status == 404, "\(path)")
            }
            #expect(try await edge.gateway.get("/").status == 426)
            let deletion = "DELETE /attest/challenge HTTP/1.1\r\nHost: localhost\r\n\r\n"
            #expect(try await edge.gateway.request(deletion).status == 405)
            #expect(try await edge.gateway.get("/attest/register").status == 405)
            try await edge.expectHealthy()
        }

        @Test func `an address gets 600 challenges a minute`() async throws {
            let edge = try await start()
            let connection = try await edge.gateway.connect()
            for number in 1...600 {
                let status = try await challengeStatus(on: connection)
                try #require(status == 200, "challenge \(number)")
            }
            let refused = try await edge.gateway.get("/attest/challenge")
            #expect(refused.status == 429)
            let wait = try #require(refused["retry-after"].flatMap { Int($0) })
            #expect(wait >= 1 && wait <= 60)
            try await edge.expectHealthy()
        }

        @Test func `an upgrade gets 503 while the table of spent challenges is full`() async throws {
            let apple = try SimulatedApple()
            let edge = try await start(apple) { $0.setting("MAX_SPENT_PROOFS", 16) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            for _ in 0..<15 { try await Edge.expectEcho(edge.gateway.open(device.handshake(at: edge.gateway))) }
            let refused = try await edge.gateway.refusal(device.handshake(at: edge.gateway))
            #expect(refused.status == 503, "\(refused)")
            #expect(refused["retry-after"] != nil)
        }

        private func challengeStatus(on connection: RawConnection) async throws -> Int {
            try await connection.send("GET /attest/challenge HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return try await connection.answer().status
        }

        private func start(
            _ apple: SimulatedApple? = nil, _ change: (GatewaySettings) -> GatewaySettings = { $0 }
        ) async throws -> Edge {
            let apple = try apple ?? SimulatedApple()
            return try await Edge.start { change($0.appAttest(apple)) }
        }
    }
}
