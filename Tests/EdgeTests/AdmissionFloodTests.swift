import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Repeated admissions: the first ones are written, the others are counted.
    @Suite struct AdmissionFloodTests {
        private let inFull = 20

        private func audit(_ output: ChildOutput) throws -> [[String: String]] {
            try output.outputLines.map { try JSONDecoder().decode([String: String].self, from: Data($0.utf8)) }
        }

        private func counted(_ lines: [[String: String]], _ event: String) -> [[String: String]] {
            lines.filter { $0["event"] == "admissions" && $0["of"] == event }
        }

        @Test func `a device's tickets are twenty lines and a count with its name`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let (flooding, other) = (
                try await apple.enrolledDevice(at: edge.gateway), try await apple.enrolledDevice(at: edge.gateway)
            )
            for device in Array(repeating: flooding, count: inFull + 7) + [other] {
                let headers = try await device.assertionHeaders(nonce: edge.gateway.challenge())
                let lines = headers.map { "\($0.key): \($0.value)\r\n" }.joined()
                let answer = try await edge.gateway.request(
                    "POST /ticket HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\(lines)\r\n")
                #expect(answer.status == 200, "\(answer)")
            }
            let lines = try audit(try await edge.gateway.stop())
            let tickets = lines.filter { $0["event"] == "ticket" }
            #expect(tickets.count { $0["who"] == flooding.keyID } == inFull)
            #expect(tickets.count { $0["who"] == other.keyID } == 1)
            let counts = counted(lines, "ticket")
            let count = try #require(counts.first)
            #expect(counts.count == 1 && count["count"] == "7" && count["who"] == flooding.keyID)
            #expect(count["outcome"] == "admitted" && count["way"] == "app_attest")
            #expect(count["address"] == "all addresses")
        }

        /// There is one for each call of a service, so none has a line of its own.
        @Test func `a device's signed requests are one count with its name`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start {
                $0.appAttest(apple).setting("SIGNED_REQUESTS", "on").setting("AUTHZ_ADMIT", "token+signed")
                    .setting("ADMIN_BIND", "127.0.0.1:0").setting("PUBLIC_ORIGIN", "http://localhost")
            }
            let url = "https://api.example.com/preferences"
            let (busy, other) = (
                try SignedClient(apple, at: edge.gateway), try SignedClient(apple, at: edge.gateway)
            )
            for client in [busy, other] { #expect(try await client.register().status == 201) }
            for client in Array(repeating: busy, count: 7) + [other] {
                let answer = try await edge.gateway.ask(
                    "GET /authz HTTP/1.1\r\nHost: portcullis\r\nX-Original-Method: PUT\r\nX-Original-URL: \(url)\r\n"
                        + SignedClient.lines(try await client.fields("PUT", url)) + "\r\n")
                #expect(answer.status == 204, "\(answer)")
            }
            let lines = try audit(try await edge.gateway.stop())
            #expect(!lines.contains { $0["event"] == "authorization" })
            let counts = counted(lines, "authorization")
            #expect(counts.map { $0["count"] } == ["7", "1"], "\(counts)")
            #expect(counts.map { $0["who"] } == [busy.device.keyID, other.device.keyID])
            #expect(counts.allSatisfy { $0["outcome"] == "admitted" && $0["way"] == "signed_request" })
        }

        /// A session has a line at its begin and one at its end, in the audit log and in the log.
        @Test func `a stranger's sessions are twenty lines each, and counts that add up`() async throws {
            let edge = try await Edge.start { $0.setting("REQUIRE_APP_AUTH", "false").setting("LOG_FORMAT", "json") }
            for _ in 0..<inFull + 5 { try await Edge.expectEcho(edge.gateway.open(Handshake())) }
            let output = try await edge.gateway.stop()
            let lines = try audit(output)
            for (event, outcome) in [("upgrade", "admitted"), ("session", "ended")] {
                let own = lines.filter { $0["event"] == event }
                #expect(own.count == inFull && own.allSatisfy { $0["outcome"] == outcome }, "\(event): \(own.count)")
                let counts = counted(lines, event)
                #expect(counts.map { $0["count"] } == ["5"], "\(counts)")
                #expect(counts.first?["address"] == "127.0.0.1" && counts.first?["who"] == nil)
            }
            let logged = output.errorLines.count { $0.contains(#""message":"session ended""#) }
            #expect(logged == inFull, "\(logged)")
        }
    }
}
