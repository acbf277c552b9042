import EdgeTestKit
import Testing

extension EdgeTests {
    /// Input that has stopped a reactor or the process once: each ends its own connection alone.
    @Suite struct PipelineTests {
        private static let get = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
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
