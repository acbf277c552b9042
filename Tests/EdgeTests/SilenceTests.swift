import EdgeTestKit
import Testing

extension EdgeTests {
    /// The gateway's time limit for silent peers.
    @Suite struct SilenceTests {
        private static func quick(_ settings: GatewaySettings) -> GatewaySettings {
            settings.setting("PING_INTERVAL_SECONDS", 1)
        }

        /// Beside other tests a client may need seconds for an answer.
        private static func patient(_ settings: GatewaySettings) -> GatewaySettings {
            settings.setting("PING_INTERVAL_SECONDS", 3)
        }

        @Test func `a client is pinged`() async throws {
            let edge = try await Edge.start(.echo, Self.quick)
            let socket = try await edge.gateway.open()
            let frame = try await socket.nextFrame()
            #expect(frame.opcode == WebSocketFrame.Opcode.ping)
        }

        @Test func `a client that sends nothing is dropped`() async throws {
            let edge = try await Edge.start(.scripted, Self.quick)
            let socket = try await edge.gateway.open()
            let target = try await edge.target.connection()
            _ = try await socket.connection.receiveToEnd()
            #expect(try await target.receiveToEnd() == [])
        }

        /// Pongs are enough to keep a session alive: five pings later, beyond the silence limit, it still works.
        @Test func `a client that answers pings stays`() async throws {
            let edge = try await Edge.start(.echo, Self.patient)
            let socket = try await edge.gateway.open()
            for _ in 0..<5 {
                let ping = try await socket.nextFrame()
                #expect(ping.opcode == WebSocketFrame.Opcode.ping)
                try await socket.send(WebSocketFrame(WebSocketFrame.Opcode.pong, ping.payload))
            }
            try await Edge.expectEcho(socket)
        }

        /// Any byte keeps a session alive, not only a pong.
        @Test func `a client that sends messages but no pongs stays`() async throws {
            let edge = try await Edge.start(.scripted, Self.patient)
            let socket = try await edge.gateway.open()
            let target = try await edge.target.connection()
            for _ in 0..<5 {
                #expect(try await socket.nextFrame().opcode == WebSocketFrame.Opcode.ping)
                try await socket.send(text: "x")
                _ = try await target.receive(1)
            }
        }

        /// The gateway has stopped reading the client, so its silence isn't counted: the timer is paused.
        @Test func `while reading is paused the silence clock stops`() async throws {
            let edge = try await Edge.start(.deaf, Self.quick)
            let socket = try await edge.gateway.open()
            let target = try await edge.target.connection()
            let message = [UInt8](repeating: 1, count: 65_536)
            for _ in 0..<200 { socket.connection.post(WebSocketFrame.binary(message).encoded()) }
            // Four pings of a neighbour take longer than the silence that is allowed.
            let neighbour = try await edge.gateway.open()
            for _ in 0..<4 {
                let ping = try await neighbour.nextFrame()
                try await neighbour.send(WebSocketFrame(WebSocketFrame.Opcode.pong, ping.payload))
            }
            try await target.setReading(true)
            for _ in 0..<200 { _ = try await target.receive(message.count) }
        }
    }
}
