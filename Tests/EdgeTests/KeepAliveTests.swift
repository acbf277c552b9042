import EdgeTestKit
import Testing

extension EdgeTests {
    /// Apple's own call lies between the guide's GET and its POST, and they share a connection.
    @Suite struct KeepAliveTests {
        private let health = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"

        @Test func `the guide's two requests share a connection`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let connection = try await edge.gateway.connect()
            try await connection.send("GET /attest/challenge HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let nonce = try #require(try await connection.answer().strings?["nonce"])
            try await connection.send(
                GatewayProcess.post("/attest/register", apple.device().registration(nonce: nonce)))
            #expect(try await connection.answer().status == 200)
            try await connection.send(health)
            #expect(try await connection.answer().status == 200)
        }

        /// libwebsockets' own default is 5 s: too short for Apple. Waiting longer than that is the point of this test.
        @Test func `a connection outlives libwebsockets' default time-out`() async throws {
            let edge = try await Edge.start()
            let connection = try await edge.gateway.connect()
            try await connection.send(health)
            #expect(try await connection.answer().status == 200)
            await #expect(throws: EdgeTestError.self) { try await connection.receiveToEnd(within: .seconds(7)) }
            try await connection.send(health)
            #expect(try await connection.answer().status == 200)
        }

        @Test func `an idle connection ends after the configured time`() async throws {
            let edge = try await Edge.start { $0.setting("HTTP_KEEPALIVE_SECONDS", 1) }
            let connection = try await edge.gateway.connect()
            try await connection.send(health)
            #expect(try await connection.lastAnswer().status == 200)
        }

        @Test func `Connection: close and HTTP/1.0 end the connection`() async throws {
            let edge = try await Edge.start()
            for request in [
                "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                "GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n",
            ] {
                let connection = try await edge.gateway.connect()
                try await connection.send(request)
                #expect(try await connection.lastAnswer().status == 200)
            }
        }

        @Test func `a request may arrive byte by byte`() async throws {
            let edge = try await Edge.start()
            let connection = try await edge.gateway.connect()
            for byte in health.utf8 { try await connection.send([byte]) }
            let answer = try await connection.answer()
            #expect(answer.status == 200)
            #expect(answer.field("status") == "healthy")
            #expect(answer.field("version")?.isEmpty == false)
        }
    }
}
