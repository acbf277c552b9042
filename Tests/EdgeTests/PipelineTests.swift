import EdgeTestKit
import Testing

extension EdgeTests {
    /// Input that has stopped a reactor or the process once: each ends its own connection alone.
    @Suite struct PipelineTests {
        private static let get = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
        private static let last = "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        private static let post = "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nb"

        /// libwebsockets takes a pipelined POST's head for its body, and completes that body for ever.
        @Test(arguments: [get + post, post + post, get + post + get, get + post + "X"])
        func aPipelinedPostStopsNobody(requests: String) async throws {
            let edge = try await Edge.start { $0.setting("REACTOR_THREADS", 1) }
            let connection = try await edge.gateway.connect()
            connection.post(Array(requests.utf8))
            _ = try await connection.receiveToEnd(within: .seconds(30))
            try await edge.expectHealthy()
        }

        /// What docs/PROTOCOL.md says of requests in one piece: those without a body are answered, a POST among others isn't.
        @Test(arguments: [(get + last, 2), (get + post, 1), (post + get, 0), (get + get + post + get, 2)])
        func aPipelinedPostEndsTheConnectionAfterTheAnswersBeforeIt(requests: String, answers: Int) async throws {
            let edge = try await Edge.start()
            let connection = try await edge.gateway.connect()
            connection.post(Array(requests.utf8))
            let text = String(decoding: try await connection.receiveToEnd(within: .seconds(30)), as: UTF8.self)
            #expect(text.ranges(of: "HTTP/1.1 200 OK").count == answers, "\(text)")
        }

        /// More answers than the socket's buffers hold: the gateway waits with them until there is room.
        @Test(arguments: [10, 5_000])
        func pipelinedRequestsOfAClientThatReadsLateAreAllAnswered(count: Int) async throws {
            let edge = try await Edge.start { $0.setting("REACTOR_THREADS", 1) }
            let connection = try await edge.gateway.connect(receiveBuffer: 65_536)
            try await connection.setReading(false)
            connection.post(Array((String(repeating: Self.get, count: count) + Self.last).utf8))
            for _ in 0..<5 { try await edge.expectHealthy() }
            try await connection.setReading(true)
            let text = String(decoding: try await connection.receiveToEnd(within: .seconds(60)), as: UTF8.self)
            #expect(text.ranges(of: "HTTP/1.1 200 OK").count == count + 1)
        }

        /// Long before the time that an idle connection has.
        @Test func whoPipelinesAndNeverReadsTheAnswersLosesTheConnection() async throws {
            let edge = try await Edge.start {
                $0.setting("REACTOR_THREADS", 1).setting("HTTP_KEEPALIVE_SECONDS", 3_600)
            }
            let connection = try await edge.gateway.connect(receiveBuffer: 65_536)
            connection.post(Array(Self.get.utf8))
            #expect(try await connection.answer().status == 200)
            let files = try ProcessMemory.openFiles(of: edge.gateway.processID)
            try await connection.setReading(false)
            connection.post(Array(String(repeating: Self.get, count: 5_000).utf8))
            let deadline = ContinuousClock.now.advanced(by: .seconds(30))
            while try ProcessMemory.openFiles(of: edge.gateway.processID) >= files {
                try #require(ContinuousClock.now < deadline, "the connection stays")
                try await edge.expectHealthy()
            }
            try await edge.expectHealthy()
        }

        /// And of those that libwebsockets answers by itself.
        @Test(arguments: [
            "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "GET http://x/health HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET health HTTP/1.1\r\nHost: x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n",
            "BREW / HTTP/1.1\r\nHost: x\r\n\r\n",
        ])
        func whatTheLibraryAnswersItselfIsA403AndTheEnd(request: String) async throws {
            let edge = try await Edge.start()
            let connection = try await edge.gateway.connect()
            connection.post(Array((request + Self.get).utf8))
            let text = String(decoding: try await connection.receiveToEnd(within: .seconds(30)), as: UTF8.self)
            #expect(text.hasPrefix("HTTP/1.0 403 Forbidden\r\n") && !text.contains("200 OK"), "\(text)")
            try await edge.expectHealthy()
        }

        @Test func aContinuationThatAnnouncesTheLargestLengthIsTooBig() async throws {
            let edge = try await Edge.start { $0.setting("REACTOR_THREADS", 1) }
            let socket = try await edge.gateway.open()
            try await socket.send(WebSocketFrame(WebSocketFrame.Opcode.text, [0x41], isFinal: false))
            let length: [UInt8] = [0x7F] + Array(repeating: 0xFF, count: 7)
            let mask: [UInt8] = [0, 0, 0, 0]
            socket.connection.post([0x80, 0xFF] + length + mask + Array(repeating: 0x42, count: 10))
            _ = try await socket.connection.receiveToEnd(within: .seconds(30))
            try await edge.expectHealthy()
        }
    }
}
