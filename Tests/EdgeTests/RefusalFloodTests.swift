import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Repeated refusals: the first ones are written, the others are counted.
    @Suite struct RefusalFloodTests {
        private func objects(_ lines: [String]) throws -> [[String: String]] {
            try lines.map { try JSONDecoder().decode([String: String].self, from: Data($0.utf8)) }
        }

        /// Each is sent after the previous one was answered, on one connection.
        private func answers(to request: String, count: Int, at gateway: GatewayProcess) async throws
            -> [ReceivedAnswer]
        {
            let connection = try await gateway.connect()
            var answers: [ReceivedAnswer] = []
            for _ in 0..<count {
                try await connection.send(request)
                answers.append(try await connection.answer())
            }
            return answers
        }

        @Test func `a thousand unknown paths are logged as ten lines and a count`() async throws {
            let edge = try await Edge.start { $0.setting("LOG_FORMAT", "json") }
            let request = "GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n"
            let answers = try await answers(to: request, count: 1_000, at: edge.gateway)
            let identifiers = answers.compactMap(\.requestID)
            #expect(answers.allSatisfy { $0.status == 404 } && Set(identifiers).count == 1_000)
            let output = try await edge.gateway.stop()
            let lines = try objects(output.errorLines)
            #expect(
                lines.filter { $0["message"] == "request refused" }.map { $0["requestId"] } == Array(identifiers[..<10])
            )
            let counts = lines.filter { $0["message"] == "refusals counted" }
            #expect(counts.count == 1 && counts.first?["count"] == "990", "\(counts)")
            #expect(counts.first?["of"] == "request" && counts.first?["reason"] == "not_found")
            #expect(counts.first?["address"] == "127.0.0.1")
            #expect(counts.first?["firstRequestId"] == identifiers[10])
            #expect(counts.first?["lastRequestId"] == identifiers[999])
            #expect(output.outputLines.isEmpty, "the audit log has none of it: \(output)")
        }

        @Test func `refused tickets on a kept-alive connection are 21 lines of the audit log`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let answers = try await answers(to: GatewayProcess.post("/ticket", ""), count: 200, at: edge.gateway)
            #expect(answers.map(\.status) == Array(repeating: 401, count: 10) + Array(repeating: 429, count: 190))
            let output = try await edge.gateway.stop()
            let lines = try objects(output.outputLines)
            #expect(lines.count == 21, "\(output)")
            #expect(lines.prefix(20).map { $0["requestId"] } == answers.prefix(20).map(\.requestID))
            let count = try #require(lines.last)
            #expect(count["event"] == "refusals" && count["of"] == "ticket" && count["reason"] == "rate_limited")
            #expect(count["count"] == "180" && count["outcome"] == "refused" && count["address"] == "127.0.0.1")
            #expect(
                count["firstRequestId"] == answers[20].requestID && count["lastRequestId"] == answers[199].requestID)
        }

        /// With room for four lines: two in full, and two counts. Admissions are always written.
        @Test func `many addresses get no more lines than the setting allows`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start {
                $0.appAttest(apple).setting("AUDIT_REFUSALS_PER_MINUTE", 4).setting("TRUSTED_PROXY_CIDRS", "127.0.0.1")
            }
            for host in 1...5 {
                for _ in 0..<host {
                    let handshake = Handshake().adding("X-Forwarded-For", "203.0.113.\(host)")
                    expectRefusal(try await edge.gateway.refusal(handshake), 401, "app_auth_required")
                }
            }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            try await Edge.expectEcho(edge.gateway.open(device.handshake(at: edge.gateway)))
            let lines = try objects(try await edge.gateway.stop().outputLines)
            let refused = lines.filter { $0["outcome"] == "refused" && $0["event"] == "upgrade" }
            #expect(refused.map { $0["address"] } == ["203.0.113.1", "203.0.113.2"])
            let counts = lines.filter { $0["event"] == "refusals" }
            #expect(counts.map { $0["address"] } == ["203.0.113.5", "other addresses"])
            #expect(counts.map { $0["count"] } == ["5", "8"])
            #expect(counts.last?["reason"] == nil && counts.last?["of"] == nil)
            let admitted = lines.filter { $0["outcome"] == "admitted" }
            #expect(admitted.map { $0["event"] } == ["registration", "upgrade"])
            #expect(lines.filter { $0["event"] == "session" }.map { $0["outcome"] } == ["ended"])
            #expect(lines.count == 7)
        }

        @Test func `a reload writes the counted refusals`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple).setting("FAILED_UPGRADES_PER_MINUTE", 1_000) }
            for _ in 0..<11 { expectRefusal(try await edge.gateway.refusal(Handshake()), 401, "app_auth_required") }
            edge.gateway.child.signal(SIGHUP)
            let line = try await edge.gateway.auditLine("\"event\":\"refusals\"", "app_auth_required")
            #expect(line.contains("\"count\":\"1\""))
            let next = try await edge.gateway.refusal(Handshake())
            try await edge.gateway.auditLine("\"event\":\"upgrade\"", try #require(next.requestID))
        }
    }
}
