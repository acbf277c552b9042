import EdgeTestKit
import Testing

extension EdgeTests {
    /// Violations of RFC 6455 end the session with the code that it specifies, and don't reach the target.
    @Suite struct ProtocolErrorTests {
        struct Violation: Sendable, CustomTestStringConvertible {
            let testDescription: String
            let code: Int
            let bytes: [UInt8]
            /// Valid data before the fault is relayed as it arrives: messages aren't buffered until they are complete.
            var relayed: [UInt8] = []

            init(_ name: String, _ code: Int, _ frames: WebSocketFrame..., relayed: [UInt8] = []) {
                self.init(name, code, bytes: frames.flatMap { $0.encoded() }, relayed: relayed)
            }

            init(_ name: String, _ code: Int, bytes: [UInt8], relayed: [UInt8] = []) {
                testDescription = name
                self.code = code
                self.bytes = bytes
                self.relayed = relayed
            }
        }

        private typealias Opcode = WebSocketFrame.Opcode

        static let violations = [
            Violation("reserved bit 1", 1002, WebSocketFrame(Opcode.text, [65], reserved: 4)),
            Violation("reserved bit 2", 1002, WebSocketFrame(Opcode.text, [65], reserved: 2)),
            Violation("reserved bit 3", 1002, WebSocketFrame(Opcode.binary, [65], reserved: 1)),
            Violation("a reserved data opcode", 1002, WebSocketFrame(3, [65])),
            Violation("a reserved control opcode", 1002, WebSocketFrame(0xB, [])),
            Violation("a continuation of nothing", 1002, WebSocketFrame(Opcode.continuation, [65])),
            Violation(
                "a message inside a message", 1002, WebSocketFrame(Opcode.text, [], isFinal: false), .text("x")),
            Violation("a fragmented ping", 1002, WebSocketFrame(Opcode.ping, [], isFinal: false)),
            Violation("invalid UTF-8", 1007, WebSocketFrame(Opcode.text, [0xC0, 0x80])),
            Violation("a surrogate in UTF-8", 1007, WebSocketFrame(Opcode.text, [0xED, 0xA0, 0x80]), relayed: [0xED]),
            Violation("truncated UTF-8", 1007, WebSocketFrame(Opcode.text, [0xE2, 0x82]), relayed: [0xE2]),
            Violation("an unmasked frame", 1002, bytes: WebSocketFrame.text("naked").encoded(mask: nil)),
            Violation(
                "a length that isn't minimal", 1002, bytes: WebSocketFrame.text("x").encoded(length: .sixteenBits)),
            Violation(
                "a long length that isn't minimal", 1002,
                bytes: WebSocketFrame.text("x").encoded(length: .sixtyFourBits)),
            Violation("a Close of one byte", 1002, WebSocketFrame(Opcode.close, [3])),
            Violation("close code 999", 1002, .close(999)),
            Violation("close code 1005", 1002, .close(1005)),
            Violation("close code 1006", 1002, .close(1006)),
        ]

        @Test(arguments: violations)
        func `a protocol error ends the session with its code`(violation: Violation) async throws {
            let edge = try await Edge.start(.scripted)
            let socket = try await edge.gateway.open()
            let target = try await edge.target.connection()
            socket.connection.post(violation.bytes)
            let close = try await socket.closedByServer()
            #expect(close.code == violation.code)
            #expect(try await target.receiveToEnd() == violation.relayed)
            try await edge.expectHealthy()
        }

        /// Data before the fault has already been relayed: messages aren't buffered until they are complete.
        @Test func `a character that the next fragment breaks ends the session`() async throws {
            let edge = try await Edge.start(.scripted)
            let socket = try await edge.gateway.open()
            let target = try await edge.target.connection()
            try await socket.send(WebSocketFrame(Opcode.text, [0x41, 0xE2, 0x82], isFinal: false))
            try await socket.send(WebSocketFrame(Opcode.continuation, [0x28, 0x42]))
            #expect(try await socket.closedByServer().code == 1007)
            #expect(try await target.receiveToEnd() == [0x41, 0xE2, 0x82])
        }

        @Test func `a reason that isn't UTF-8 ends the session`() async throws {
            let edge = try await Edge.start(.scripted)
            let socket = try await edge.gateway.open()
            let target = try await edge.target.connection()
            socket.connection.post(WebSocketFrame(Opcode.close, [0x03, 0xE8, 0xFF]).encoded())
            #expect(try await socket.closedByServer().code == 1007)
            #expect(try await target.receiveToEnd() == [])
        }

        @Test func `a ping above 125 bytes ends the session`() async throws {
            let edge = try await Edge.start(.scripted)
            let socket = try await edge.gateway.open()
            let target = try await edge.target.connection()
            try await socket.send(.ping([UInt8](repeating: 0, count: 125)))
            #expect(try await socket.nextFrame().payload.count == 125)
            socket.connection.post(WebSocketFrame.ping([UInt8](repeating: 0, count: 126)).encoded())
            #expect(try await socket.closedByServer().code == 1002)
            #expect(try await target.receiveToEnd() == [])
        }

        @Test func `a character may be split between fragments`() async throws {
            let edge = try await Edge.start()
            let socket = try await edge.gateway.open()
            try await socket.send(WebSocketFrame(Opcode.text, [0xE2, 0x82], isFinal: false))
            try await socket.send(WebSocketFrame(Opcode.continuation, [0xAC]))
            #expect(try await socket.receiveText(3) == "€")
        }

        @Test func `a message above the limit closes with 1009 in one frame or in many`() async throws {
            let edge = try await Edge.start(.scripted)
            let whole = try await edge.gateway.open()
            whole.connection.post(WebSocketFrame.binary([UInt8](repeating: 1, count: 65_537)).encoded())
            #expect(try await whole.closedByServer().code == 1009)
            let pieces = try await edge.gateway.open()
            let piece = [UInt8](repeating: 1, count: 16_384)
            pieces.connection.post(WebSocketFrame(Opcode.binary, piece, isFinal: false).encoded())
            for _ in 0..<3 {
                pieces.connection.post(WebSocketFrame(Opcode.continuation, piece, isFinal: false).encoded())
            }
            pieces.connection.post(WebSocketFrame(Opcode.continuation, [1]).encoded())
            #expect(try await pieces.closedByServer().code == 1009)
        }

        @Test func `the message limit is a setting`() async throws {
            let edge = try await Edge.start { $0.setting("MAX_MESSAGE_BYTES", 200) }
            let fitting = try await edge.gateway.open()
            try await fitting.send(binary: [UInt8](repeating: 1, count: 200))
            #expect(try await fitting.receive(200).count == 200)
            try await fitting.send(binary: [UInt8](repeating: 1, count: 201))
            #expect(try await fitting.closedByServer().code == 1009)
        }

        /// If the dialect has error messages, a large message is answered up to a multiple of the limit; beyond that
        /// the session is closed.
        @Test func `a large message is answered and a huge one closes with 1009`() async throws {
            let edge = try await Edge.start(.scripted)
            let socket = try await edge.gateway.open(Handshake().path("/?dialect=typed"))
            try await socket.connectTyped()
            let target = try await edge.target.connection()
            let paste = String(repeating: #"\"é\n"#, count: 15_500)
            try await socket.send(text: #"{"type":"input","text":"\#(paste)","cid":1}"#)
            let expected = String(repeating: "\"é\r\n", count: 15_500)
            _ = try await target.receive(upTo: expected)
            #expect(try await socket.nextTyped("inputAck").fields["cid"] as? Int == 1)
            try await socket.send(text: #"{"type":"input","text":"\#(String(repeating: "x", count: 70_000))","cid":2}"#)
            let error = try await socket.nextTyped("error")
            #expect(error["message"] == "Message is too large" && error.fields["cid"] as? Int == 2)
            socket.connection.post(WebSocketFrame.text(String(repeating: " ", count: 16 * 65_536 + 1_025)).encoded())
            #expect(try await socket.closedByServer().code == 1009)
        }

        @Test func `a frame that announces too much closes with 1009 long before it is complete`() async throws {
            let edge = try await Edge.start(.scripted)
            let socket = try await edge.gateway.open()
            let beginning = [UInt8](repeating: 0, count: 20_000)
            socket.connection.post([0x82, 0xFF, 0, 0, 0, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 1, 2, 3, 4] + beginning)
            #expect(try await socket.closedByServer().code == 1009)
        }
    }
}
