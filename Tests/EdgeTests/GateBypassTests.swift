import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Attempts to bypass the gate.
    @Suite struct GateBypassTests {
        static let detours: [String] = [
            "CONNECT host:1 HTTP/1.1\r\nHost: host:1\r\n\r\n",
            "CONNECT host:1 HTTP/1.0\r\n\r\n",
            "CONNECT / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\u{0}\u{0}\u{0}\u{4}\u{0}\u{0}\u{0}\u{0}\u{0}",
            Handshake().setting("Upgrade", "h2c").adding("HTTP2-Settings", "AAMAAABkAAQAAP__").text,
            Handshake().setting("Upgrade", "h2c").setting("Connection", "Upgrade, HTTP2-Settings")
                .adding("HTTP2-Settings", "AAMAAABkAAQAAP__").text,
            Handshake().setting("Upgrade", "websocket, h2c").text,
            Handshake().setting("Upgrade", "h2c, websocket").text,
            Handshake().setting("Upgrade", "raw-skt").text,
            Handshake().setting("Upgrade", "mqtt").text,
            Handshake().setting("Upgrade", "").text,
            Handshake().setting("Upgrade", "websocketx").text,
            Handshake().setting("Upgrade", nil).text,
            Handshake().setting("Connection", nil).text,
            Handshake().setting("Connection", "keep-alive").text,
            "\u{1}\u{2}\u{3}\u{4}\r\n\r\n",
            "hello gateway\r\n\r\n",
            "GET\r\n\r\n",
        ]

        /// No answer is a 101, nothing of HTTP/2 comes back, and no byte reaches the target; the connection ends.
        @Test(arguments: detours.indices)
        func `no unusual request bypasses the gate`(index: Int) async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let connection = try await edge.gateway.connect()
            connection.post(Array(Self.detours[index].utf8))
            connection.post(Array("GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8))
            let bytes = try await connection.receiveToEnd()
            #expect(bytes.isEmpty || bytes.starts(with: Array("HTTP/1.".utf8)), "\(bytes)")
            #expect(!String(decoding: bytes, as: UTF8.self).contains(" 101 "))
            #expect(edge.target.connectionCount == 0)
            try await edge.expectHealthy()
        }

        /// libwebsockets has protocols of its own; an offer must not choose them.
        @Test(
            arguments: [
                "http-only", "http", "default", "raw", "raw-skt", "lws-mirror-protocol", "lws-status", "ws", "wss",
                "portcullis", "gate", "upstream", "relay", "mqtt", "lws-ssh-base", "dumb-increment-protocol", "h2",
            ])
        func `no name of an internal protocol bypasses the gate`(name: String) async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let alone = try await edge.gateway.refusal(Handshake().offering(name))
            #expect(alone.status == 400, "\(alone)")
            for offer in ["\(name), telnet", "telnet, \(name)"] {
                let mixed = try await edge.gateway.refusal(Handshake().setting("Sec-WebSocket-Protocol", offer))
                expectRefusal(mixed, 401, "app_auth_required")
            }
            #expect(edge.target.connectionCount == 0)
        }

        @Test func `over TLS HTTP/2 is neither negotiated nor accepted`() async throws {
            let certificates = try await DevCertificates.shared()
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple).tls(certificates) }
            let connection = try await edge.gateway.connect(TLSChoice(applicationProtocols: ["h2"]))
            connection.post(Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\u{0}\u{0}\u{0}\u{4}\u{0}\u{0}\u{0}\u{0}\u{0}".utf8))
            let bytes = try await connection.receiveToEnd()
            #expect(bytes.isEmpty || bytes.starts(with: Array("HTTP/1.".utf8)), "\(bytes)")
            try await edge.expectHealthy()
        }

        /// The element appended by a trusted proxy counts, whatever precedes it. The names begin like known HTTP
        /// headers.
        @Test(arguments: ["X", "X-A", "X-Forwarded-Fo", "Re", "Accept-C", "Get", "Post", "Sec-WebSocket-"])
        func `no header field hides the address that a proxy has added`(name: String) async throws {
            let directory = try TemporaryDirectory()
            let list = directory.file("blocked")
            try "address 203.0.113.9\n".write(toFile: list, atomically: true, encoding: .utf8)
            let edge = try await Edge.start {
                $0.setting("TRUSTED_PROXY_CIDRS", "127.0.0.1").setting("BLOCK_LIST_PATH", list)
            }
            for own in [nil, "198.51.100.7"] {
                let handshake = own.map { Handshake().adding("X-Forwarded-For", $0) } ?? Handshake()
                let hidden = handshake.adding(name, "y").adding("X-Forwarded-For", "203.0.113.9")
                expectRefusal(try await edge.gateway.refusal(hidden), 403, "device_blocked")
            }
            let free = Handshake().adding(name, "y").adding("X-Forwarded-For", "203.0.113.10")
            try await Edge.expectEcho(edge.gateway.open(free))
        }

        /// With two values, other servers may have used either one.
        @Test(arguments: [
            "Authorization", "Origin", "X-App-Assert-KeyId", "X-App-Assert-Data", "X-App-Assert-Nonce",
            "Sec-WebSocket-Key", "Sec-WebSocket-Version",
        ])
        func `a repeated credential field is refused`(name: String) async throws {
            let edge = try await Edge.start()
            let value = name == "Sec-WebSocket-Version" ? "13" : "dGhlIHNhbXBsZSBub25jZQ=="
            let answer = try await edge.gateway.refusal(Handshake().adding(name, value).adding(name, value))
            #expect(answer.status == 400 || answer.status == 426, "\(answer)")
            #expect(edge.target.connectionCount == 0)
        }

        /// Extension offers of any length; none is accepted, and a malformed offer spends nothing.
        @Test func `a long extension offer is admitted and a malformed one spends no challenge`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let device = try apple.device()
            #expect(try await device.register(at: edge.gateway).status == 200)
            let handshake = try await device.handshake(at: edge.gateway, counter: 1)
            let malformed = handshake.setting(
                "Sec-WebSocket-Extensions", "x; y=\"" + String(repeating: "z", count: 300))
            expectRefusal(try await edge.gateway.refusal(malformed), 400, "malformed_handshake")
            let long = handshake.setting("Sec-WebSocket-Extensions", "x-" + String(repeating: "y", count: 4_000))
            try await Edge.expectEcho(edge.gateway.open(long))
        }
    }
}
