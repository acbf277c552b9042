import EdgeTestKit
import Testing

extension EdgeTests {
    /// Input that once blocked a reactor or crashed the process: each ends only its own connection.
    @Suite struct PipelineTests {
        private static let get = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
        private static let last = "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        private static let chunked =
            "POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nb\r\n0\r\n\r\n"
        private static let post = "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nb"

        /// RFC 9112 section 9.3.2.
        @Test(arguments: [
            (get + last, ["200", "200"]), (get + post + last, ["200", "404", "200"]),
            (post + post + last, ["404", "404", "200"]),
            (chunked + get + last, ["404", "200", "200"]),
            (get + "BREW /x HTTP/1.1\r\nHost: x\r\n\r\n" + last, ["200", "501", "200"]),
        ])
        func `pipelined requests are answered in order`(requests: String, answers: [String]) async throws {
            let edge = try await Edge.start { $0.setting("REACTOR_THREADS", 1) }
            #expect(try await statuses(of: requests, at: edge) == answers)
            try await edge.expectHealthy()
        }

        /// The end of a malformed request is unknown, so nothing after it is parsed as a request.
        @Test(arguments: [
            get + "GET  /health HTTP/1.1\r\nHost: x\r\n\r\n" + get, get + "X\r\n" + get,
            get + "POST /x HTTP/1.1\r\nHost: x\r\n\r\nb" + get,
        ])
        func `nothing after a malformed request is served`(requests: String) async throws {
            let edge = try await Edge.start { $0.setting("REACTOR_THREADS", 1) }
            let statuses = try await statuses(of: requests, at: edge)
            #expect(statuses.count == 2 && statuses[0] == "200" && statuses[1].hasPrefix("4"), "\(statuses)")
            try await edge.expectHealthy()
        }

        private func statuses(of requests: String, at edge: Edge) async throws -> [String] {
            let connection = try await edge.gateway.connect()
            connection.post(Array(requests.utf8))
            let text = String(decoding: try await connection.receiveToEnd(within: .seconds(30)), as: UTF8.self)
            return text.matches(of: #/HTTP/1\.1 ([0-9]{3}) /#).map { String($0.output.1) }
        }

        /// More answers than the socket's buffers hold: the gateway waits until there is room.
        @Test(arguments: [10, 5_000])
        func `pipelined requests of a client that reads late are all answered`(count: Int) async throws {
            let edge = try await Edge.start { $0.setting("REACTOR_THREADS", 1) }
            let connection = try await edge.gateway.connect(receiveBuffer: 65_536)
            try await connection.setReading(false)
            connection.post(Array((String(repeating: Self.get, count: count) + Self.last).utf8))
            for _ in 0..<5 { try await edge.expectHealthy() }
            try await connection.setReading(true)
            let text = String(decoding: try await connection.receiveToEnd(within: .seconds(60)), as: UTF8.self)
            #expect(text.ranges(of: "HTTP/1.1 200 OK").count == count + 1)
        }

        /// Long before the idle time limit.
        @Test func `a client that pipelines and never reads the answers loses the connection`() async throws {
            let edge = try await Edge.start {
                $0.setting("REACTOR_THREADS", 1).setting("HTTP_KEEPALIVE_SECONDS", 3_600)
            }
            let connection = try await edge.gateway.connect(receiveBuffer: 65_536)
            // Polls on a single connection: others that are being closed would count, too. Files of the store and of
            // logs don't.
            let other = try await edge.gateway.connect()
            for each in [connection, other] {
                try await each.send(Self.get)
                #expect(try await each.answer().status == 200)
            }
            let sockets = try ProcessMemory.openSockets(of: edge.gateway.processID)
            try await connection.setReading(false)
            connection.post(Array(String(repeating: Self.get, count: 5_000).utf8))
            let deadline = ContinuousClock.now.advanced(by: .seconds(120))
            while try ProcessMemory.openSockets(of: edge.gateway.processID) >= sockets {
                try #require(ContinuousClock.now < deadline, "the connection stays")
                try await other.send(Self.get)
                #expect(try await other.answer().status == 200)
            }
            try await edge.expectHealthy()
        }

        @Test func `a continuation that announces the largest length is too big`() async throws {
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
