import EdgeTestKit
import Testing

extension EdgeTests {
    /// The first check: whether the request is a WebSocket handshake (RFC 6455 section 4.2.1).
    @Suite struct HandshakeTests {
        @Test func `a well-formed handshake is answered with 101`() async throws {
            let edge = try await Edge.start()
            let socket = try await edge.gateway.open()
            #expect(socket.answer["sec-websocket-protocol"] == nil)
            #expect(socket.answer["sec-websocket-extensions"] == nil)
            try await Edge.expectEcho(socket)
        }

        @Test(arguments: ["binary", "telnet", "telnet.mudstandards.org"])
        func `a known subprotocol is echoed`(name: String) async throws {
            let edge = try await Edge.start()
            let socket = try await edge.gateway.open(Handshake().offering(name))
            #expect(socket.answer["sec-websocket-protocol"] == name)
            try await Edge.expectEcho(socket)
        }

        @Test func `the first known subprotocol of several is chosen`() async throws {
            let edge = try await Edge.start()
            let socket = try await edge.gateway.open(Handshake().offering("chat", "telnet", "binary"))
            #expect(socket.answer["sec-websocket-protocol"] == "telnet")
            try await Edge.expectEcho(socket)
        }

        @Test(arguments: ["chat", "chat, superchat", "BINARY", "telne", "telnet2", "x", ","])
        func `an offer of only unknown subprotocols is answered with 400`(offer: String) async throws {
            let edge = try await Edge.start()
            let answer = try await edge.gateway.refusal(Handshake().setting("Sec-WebSocket-Protocol", offer))
            #expect(answer.status == 400, "\(answer)")
            #expect(answer.code?.isEmpty == false)
            #expect(edge.target.connectionCount == 0)
        }

        @Test func `an upgrade over HTTP/1.0 is answered with 400`() async throws {
            let edge = try await Edge.start()
            let answer = try await edge.gateway.refusal(Handshake().httpVersion("HTTP/1.0"))
            expectRefusal(answer, 400, "malformed_handshake")
            #expect(edge.target.connectionCount == 0)
        }

        @Test(arguments: ["12", "8", "0", "-13", "013", "13, 8", "", "thirteen", nil])
        func `another version is answered with the supported one`(version: String?) async throws {
            let edge = try await Edge.start()
            let answer = try await edge.gateway.refusal(Handshake().setting("Sec-WebSocket-Version", version))
            #expect(answer.status == 426, "\(answer)")
            #expect(answer["sec-websocket-version"] == "13")
        }

        @Test(
            arguments: [
                nil, "", "a", "AAAA", "AAAAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAA", "!!!!!!!!!!!!!!!!!!!!!!==",
                "AAAAAAAAAAAAAAAAAAAAAB==", "AAAAAAAAAAAAAAAAAAAAAA",
            ])
        func `a key that isn't 16 bytes is answered with 400`(key: String?) async throws {
            let edge = try await Edge.start()
            let answer = try await edge.gateway.refusal(Handshake().setting("Sec-WebSocket-Key", key))
            #expect(answer.status == 400, "\(answer)")
            #expect(edge.target.connectionCount == 0)
        }

        /// Whatever the status is, it isn't 101, and nothing reaches the target.
        @Test(arguments: ["POST", "HEAD", "PUT", "OPTIONS", "PATCH", "DELETE", "BREW"])
        func `only GET upgrades`(method: String) async throws {
            let edge = try await Edge.start()
            let connection = try await edge.gateway.connect()
            try await connection.send(Handshake().method(method).setting("Content-Length", "0").text)
            let bytes = try await connection.receiveToEnd()
            #expect(bytes.isEmpty || bytes.starts(with: Array("HTTP/1.".utf8)))
            #expect(!String(decoding: bytes, as: UTF8.self).contains(" 101 "))
            #expect(edge.target.connectionCount == 0)
            try await edge.expectHealthy()
        }

        /// A fault in the handshake comes before everything that could cost the client something.
        @Test func `a malformed handshake spends neither challenge nor counter`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let handshake = try await device.handshake(at: edge.gateway)
            #expect(try await edge.gateway.refusal(handshake.setting("Sec-WebSocket-Version", "8")).status == 426)
            #expect(try await edge.gateway.refusal(handshake.setting("Sec-WebSocket-Key", "x")).status == 400)
            #expect(try await edge.gateway.refusal(handshake.offering("chat")).status == 400)
            #expect(try await edge.gateway.refusal(handshake.setting("Origin", "https://evil.example")).status == 403)
            try await Edge.expectEcho(edge.gateway.open(handshake))
        }

        @Test func `header names are case-insensitive`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let nonce = try await edge.gateway.challenge()
            var handshake = Handshake()
            for (name, value) in try device.assertionHeaders(nonce: nonce) {
                handshake = handshake.adding(name.lowercased(), value)
            }
            try await Edge.expectEcho(edge.gateway.open(handshake))
        }
    }
}
