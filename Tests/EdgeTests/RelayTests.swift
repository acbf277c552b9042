import EdgeTestKit
import Testing

extension EdgeTests {
    /// WebSocket ⇄ TCP, raw: payloads pass unchanged, whatever the framing is.
    @Suite struct RelayTests {
        @Test func `text and binary reach the target raw and its bytes arrive as binary`() async throws {
            let edge = try await Edge.start(.scripted)
            let socket = try await edge.gateway.open()
            let target = try await edge.target.connection()
            try await socket.send(text: "héllo ✓\r\n")
            try await socket.send(binary: [0, 255, 250, 240, 13, 10, 0])
            let expected = Array("héllo ✓\r\n".utf8) + [0, 255, 250, 240, 13, 10, 0]
            #expect(try await target.receive(expected.count) == expected)
            try await target.send([255, 251, 1] + Array("Welcome".utf8))
            var received: [UInt8] = []
            while received.count < 10 {
                let frame = try await socket.nextFrame()
                #expect(frame.opcode == WebSocketFrame.Opcode.binary && frame.isFinal && frame.reserved == 0)
                received += frame.payload
            }
            #expect(received == [255, 251, 1] + Array("Welcome".utf8))
        }

        @Test func `the target may send first`() async throws {
            let edge = try await Edge.start(.scripted)
            let socket = try await edge.gateway.open()
            try await edge.target.connection().send("login: ")
            #expect(try await socket.receiveText(7) == "login: ")
        }

        /// Data sent together with the handshake must not be lost while the target is being dialled.
        @Test func `frames sent right after the handshake arrive`() async throws {
            let edge = try await Edge.start()
            let connection = try await edge.gateway.connect()
            let handshake = Handshake()
            connection.post(Array(handshake.text.utf8) + WebSocketFrame.text("early").encoded())
            let answer = try await connection.answer()
            #expect(answer.status == 101)
            let frame = try await connection.receive(7)
            #expect(frame == [0x82, 5] + Array("early".utf8))
        }

        @Test func `empty messages are harmless`() async throws {
            let edge = try await Edge.start()
            let socket = try await edge.gateway.open()
            try await socket.send(text: "")
            try await socket.send(binary: [])
            try await Edge.expectEcho(socket)
        }

        @Test func `fragments are joined and control frames may come between them`() async throws {
            let edge = try await Edge.start(.scripted)
            let socket = try await edge.gateway.open()
            let target = try await edge.target.connection()
            try await socket.send(WebSocketFrame(WebSocketFrame.Opcode.text, Array("one ".utf8), isFinal: false))
            try await socket.send(.ping([1, 2, 3]))
            try await socket.send(WebSocketFrame(WebSocketFrame.Opcode.continuation, [], isFinal: false))
            try await socket.send(WebSocketFrame(WebSocketFrame.Opcode.pong, []))
            try await socket.send(WebSocketFrame(WebSocketFrame.Opcode.continuation, Array("message".utf8)))
            #expect(try await target.receiveText(11) == "one message")
            #expect(try await socket.nextFrame() == WebSocketFrame(WebSocketFrame.Opcode.pong, [1, 2, 3]))
        }

        @Test func `a message in fragments of one byte arrives whole`() async throws {
            let edge = try await Edge.start()
            let socket = try await edge.gateway.open()
            let payload = [UInt8](0...255)
            for (index, byte) in payload.enumerated() {
                let opcode = index == 0 ? WebSocketFrame.Opcode.binary : WebSocketFrame.Opcode.continuation
                socket.connection.post(
                    WebSocketFrame(opcode, [byte], isFinal: index == payload.count - 1).encoded())
            }
            #expect(try await socket.receive(256) == payload)
        }

        /// Every way in which TCP can split the same frames gives the same bytes.
        @Test func `frames split at every byte arrive whole`() async throws {
            let edge = try await Edge.start()
            let socket = try await edge.gateway.open()
            let medium = [UInt8](repeating: 77, count: 130)
            let bytes = WebSocketFrame.text("short").encoded() + WebSocketFrame.binary(medium).encoded()
            for cut in 1..<bytes.count {
                try await socket.connection.send(bytes[..<cut])
                try await socket.connection.send(bytes[cut...])
                #expect(try await socket.receive(135) == Array("short".utf8) + medium)
            }
        }

        @Test(arguments: [0, 1, 125, 126, 127, 4095, 4096, 4097, 65_535, 65_536])
        func `messages of every length come back whole`(length: Int) async throws {
            let edge = try await Edge.start()
            let socket = try await edge.gateway.open()
            var generator = SeededGenerator(seed: UInt64(length))
            let payload = generator.bytes(length)
            try await socket.send(binary: payload)
            try await socket.send(text: "!")
            #expect(try await socket.receive(length + 1) == payload + [33])
        }

        @Test func `many messages at once come back in order`() async throws {
            let edge = try await Edge.start()
            let socket = try await edge.gateway.open()
            var generator = SeededGenerator(seed: 7)
            var expected: [UInt8] = []
            for _ in 0..<500 {
                let payload = generator.bytes(Int.random(in: 0..<2000, using: &generator))
                expected += payload
                socket.connection.post(WebSocketFrame.binary(payload).encoded())
            }
            #expect(try await socket.receive(expected.count) == expected)
        }

        @Test func `the same bytes arrive over TLS`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start { $0.tls(certificates) }
            for version in [TLSChoice.Version.tls12, .tls13] {
                let tls = TLSChoice(trustedCA: certificates.serverCA, only: version)
                let socket = try await edge.gateway.open(tls: tls)
                var generator = SeededGenerator(seed: 11)
                let payload = generator.bytes(60_000)
                for _ in 0..<10 { socket.connection.post(WebSocketFrame.binary(payload).encoded()) }
                let expected = [[UInt8]](repeating: payload, count: 10).flatMap { $0 }
                #expect(try await socket.receive(expected.count) == expected)
            }
        }
    }
}
