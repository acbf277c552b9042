import EdgeTestKit
import Testing

extension EdgeTests {
    /// Data in several TLS records that arrive together: none of it may remain unread until more input arrives.
    @Suite struct ReadAheadTests {
        @Test(arguments: [2, 16, 64, 65, 66, 500])
        func `every record of many is served`(count: Int) async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start(.echo) { $0.tls(certificates) }
            let socket = try await edge.gateway.open()
            let messages = (0..<count).map { [UInt8](repeating: UInt8(truncatingIfNeeded: $0), count: 1 + $0 % 40) }
            try await socket.connection.sendTogether(messages.map { WebSocketFrame.binary($0).encoded() })
            let expected = messages.flatMap(\.self)
            #expect(try await socket.receive(expected.count) == expected)
        }

        /// A ping is answered by the connection itself, without an event for the session.
        @Test func `a message after a ping is served`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start(.echo) { $0.tls(certificates) }
            let socket = try await edge.gateway.open()
            let frames: [WebSocketFrame] = [.ping([1]), .binary([2, 3])]
            try await socket.connection.sendTogether(frames.map { $0.encoded() })
            let answers = [try await socket.nextFrame(), try await socket.nextFrame()]
            #expect(answers.contains(WebSocketFrame(WebSocketFrame.Opcode.pong, [1])))
            #expect(answers.contains(.binary([2, 3])))
        }

        @Test func `a frame that is split into one-byte records is served`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start(.echo) { $0.tls(certificates) }
            let socket = try await edge.gateway.open()
            let payload = [UInt8](0..<200)
            try await socket.connection.sendTogether(WebSocketFrame.binary(payload).encoded().map { [$0] })
            #expect(try await socket.receive(payload.count) == payload)
        }

        @Test func `a Close frame after messages is answered and the messages reach the target`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start(.scripted) { $0.tls(certificates) }
            let socket = try await edge.gateway.open()
            let target = try await edge.target.connection()
            let frames = (0..<100 as Range<UInt8>).map { WebSocketFrame.binary([$0]) } + [.close(1000, "bye")]
            try await socket.connection.sendTogether(frames.map { $0.encoded() })
            #expect(try await target.receive(100) == [UInt8](0..<100))
            #expect(try await socket.receiveToClose().close.code == 1000)
        }

        /// Reading stops in the middle of the received data, and continues without another byte from the client.
        @Test func `input buffered while the client isn't read is served later`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start(.deaf) { $0.tls(certificates) }
            let socket = try await edge.gateway.open()
            let target = try await edge.target.connection()
            let message = [UInt8](repeating: 0x62, count: 16_000)
            let frames = [[UInt8]](repeating: WebSocketFrame.binary(message).encoded(), count: 10)
            for _ in 0..<80 { try await socket.connection.sendTogether(frames) }
            for _ in 0..<20 { try await edge.expectHealthy() }
            try await target.setReading(true)
            var received = 0
            while received < 800 * message.count {
                received += try await target.receive(min(160_000, 800 * message.count - received)).count
            }
            #expect(received == 800 * message.count)
        }
    }
}
