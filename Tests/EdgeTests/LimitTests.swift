import EdgeTestKit
import Testing

extension EdgeTests {
    /// Every limit that an unauthenticated client can reach: accepted at the limit, refused one above it.
    @Suite struct LimitTests {
        @Test func `the connection above the address's limit is closed unanswered`() async throws {
            let edge = try await Edge.start { $0.setting("MAX_CONNECTIONS_PER_ADDRESS", 5) }
            try await expectLimit(of: 5, at: edge)
        }

        @Test func `the connection above the total limit is closed unanswered`() async throws {
            let edge = try await Edge.start { $0.setting("MAX_CONNECTIONS", 5) }
            try await expectLimit(of: 5, at: edge)
        }

        @Test func `a session releases its connection`() async throws {
            let edge = try await Edge.start { $0.setting("MAX_CONNECTIONS_PER_ADDRESS", 3) }
            for _ in 0..<10 {
                let socket = try await edge.gateway.open()
                try await Edge.expectEcho(socket)
                try await socket.close()
            }
        }

        @Test func `the upgrade above the session limit gets 503`() async throws {
            let edge = try await Edge.start { $0.setting("MAX_SESSIONS_GLOBAL", 2) }
            let first = try await edge.gateway.open()
            let second = try await edge.gateway.open()
            let refused = try await edge.gateway.refusal(Handshake())
            expectRefusal(refused, 503, "at_capacity")
            #expect(refused["retry-after"] != nil)
            try await Edge.expectEcho(second)
            try await first.close()
            try await Edge.expectEcho(admittedSoon(at: edge.gateway))
        }

        @Test func `a TLS handshake that never ends is cut off`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start { $0.tls(certificates).setting("REQUEST_TIMEOUT_MS", 2000) }
            let silent = try await RawConnection.open(port: edge.gateway.port)
            let begun = try await RawConnection.open(port: edge.gateway.port)
            try await begun.send([0x16, 0x03, 0x01, 0x02])
            for connection in [silent, begun] { _ = try await connection.receiveToEnd() }
            try await edge.expectHealthy()
        }

        @Test func `a header that never ends is cut off`() async throws {
            let edge = try await Edge.start { $0.setting("REQUEST_TIMEOUT_MS", 2000) }
            let beginnings = ["", "G", "GET /health HTTP/1.1\r\nHost: loc"]
            let connections = try await inParallel(beginnings.count) { _ in try await edge.gateway.connect() }
            for (connection, beginning) in zip(connections, beginnings) where !beginning.isEmpty {
                connection.post(Array(beginning.utf8))
            }
            for connection in connections {
                let bytes = try await connection.receiveToEnd()
                #expect(!String(decoding: bytes, as: UTF8.self).contains(" 200 "))
            }
            try await edge.expectHealthy()
        }

        /// The idle time before it may be long, and ends with its first byte.
        @Test(arguments: ["G", "GET /health HTTP/1.1\r\nHost: loc"])
        func `a later header that never ends is cut off`(beginning: String) async throws {
            let edge = try await Edge.start {
                $0.setting("REQUEST_TIMEOUT_MS", 2000).setting("HTTP_KEEPALIVE_SECONDS", 3_600)
            }
            let connection = try await edge.gateway.connect()
            try await connection.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try await connection.answer().status == 200)
            try await connection.send(beginning)
            _ = try await connection.receiveToEnd()
        }

        /// libwebsockets' own limit would be 10 s: the test must let that time pass.
        @Test func `a header may take as long as the setting allows`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start { $0.tls(certificates).setting("REQUEST_TIMEOUT_MS", 60_000) }
            let connection = try await edge.gateway.connect()
            try await connection.send("GET /health HTTP/1.1\r\nHost: loc")
            try await Task.sleep(for: .seconds(11))
            try await connection.send("alhost\r\nConnection: close\r\n\r\n")
            let bytes = try await connection.receiveToEnd()
            #expect(String(decoding: bytes, as: UTF8.self).contains(" 200 "))
        }

        /// Sending single bytes doesn't extend the time: the limit is for the whole header. Each byte is sent after
        /// another client was answered.
        @Test func `a header that arrives byte by byte is cut off`() async throws {
            let edge = try await Edge.start { $0.setting("REQUEST_TIMEOUT_MS", 500) }
            let connection = try await edge.gateway.connect()
            try await connection.send("GET /health HTTP/1.1\r\nx: ")
            let trickle = Task {
                while !Task.isCancelled {
                    connection.post([UInt8(ascii: "y")])
                    _ = try await edge.gateway.get("/health")
                }
            }
            defer { trickle.cancel() }
            let bytes = try await connection.receiveToEnd()
            #expect(!String(decoding: bytes, as: UTF8.self).contains(" 200 "))
        }

        @Test func `a body that never ends is cut off`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple).setting("REQUEST_TIMEOUT_MS", 2000) }
            let connection = try await edge.gateway.connect()
            try await connection.send(
                "POST /attest/register HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"keyId\":")
            let bytes = try await connection.receiveToEnd()
            #expect(!String(decoding: bytes, as: UTF8.self).contains(" 200 "))
            try await edge.expectHealthy()
        }

        /// The HTTP time limits don't apply to a session.
        @Test func `the time limits of HTTP don't end a session`() async throws {
            let edge = try await Edge.start {
                $0.setting("REQUEST_TIMEOUT_MS", 2000)
                    .setting("HTTP_KEEPALIVE_SECONDS", 2).setting("PING_INTERVAL_SECONDS", 3)
            }
            let socket = try await edge.gateway.open()
            #expect(try await socket.nextFrame().opcode == WebSocketFrame.Opcode.ping)
            try await Edge.expectEcho(socket)
        }

        @Test func `a header of almost 16 KiB is read and a larger one ends the connection`() async throws {
            let edge = try await Edge.start()
            let fitting = String(repeating: "a", count: 15_000)
            let answer = try await edge.gateway.request(
                "GET /health HTTP/1.1\r\nHost: localhost\r\nX-Padding: \(fitting)\r\n\r\n")
            #expect(answer.status == 200)
            let connection = try await edge.gateway.connect()
            connection.post(
                Array("GET /health HTTP/1.1\r\nHost: localhost\r\nX-Padding: \(fitting)\(fitting)\r\n\r\n".utf8))
            let bytes = try await connection.receiveToEnd()
            #expect(!String(decoding: bytes, as: UTF8.self).contains(" 200 "))
            try await edge.expectHealthy()
        }

        @Test func `thousands of header fields end the connection`() async throws {
            let edge = try await Edge.start()
            let connection = try await edge.gateway.connect()
            let many = (0..<20_000).map { "h\($0): v\r\n" }.joined()
            connection.post(Array("GET /health HTTP/1.1\r\nHost: localhost\r\n\(many)\r\n".utf8))
            let bytes = try await connection.receiveToEnd()
            #expect(!String(decoding: bytes, as: UTF8.self).contains(" 200 "))
            try await edge.expectHealthy()
        }

        private func expectLimit(of limit: Int, at edge: Edge) async throws {
            var held: [RawConnection] = []
            for _ in 0..<limit {
                let connection = try await edge.gateway.connect()
                try await connection.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                #expect(try await connection.answer().status == 200)
                held.append(connection)
            }
            let above = try await edge.gateway.connect()
            #expect(try await above.receiveToEnd() == [])
            await held.removeLast().close()
            #expect(try await healthSoon(at: edge.gateway) == 200)
        }

        /// The gateway notices an end asynchronously: polls until it has.
        private func healthSoon(at gateway: GatewayProcess) async throws -> Int {
            let deadline = ContinuousClock.now.advanced(by: .seconds(20))
            while true {
                do {
                    return try await gateway.get("/health").status
                } catch {
                    guard ContinuousClock.now < deadline else { throw error }
                }
            }
        }

        private func admittedSoon(at gateway: GatewayProcess) async throws -> TestWebSocket {
            let deadline = ContinuousClock.now.advanced(by: .seconds(20))
            while true {
                switch try await gateway.attempt() {
                case .open(let socket): return socket
                case .refused(let answer, _):
                    guard ContinuousClock.now < deadline else { throw EdgeTestError("still refused: \(answer)") }
                }
            }
        }
    }
}
