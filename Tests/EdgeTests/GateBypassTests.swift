import EdgeTestKit
import Testing

extension EdgeTests {
    /// The ways around a gate that libwebsockets' own HTTP role would leave open.
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
        func noDetourLeadsInside(index: Int) async throws {
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

        /// libwebsockets has protocols of its own, and a vhost may have hidden ones; an offer must not choose them.
        @Test(
            arguments: [
                "http-only", "http", "default", "raw", "raw-skt", "lws-mirror-protocol", "lws-status", "ws", "wss",
                "portcullis", "gate", "upstream", "relay", "mqtt", "lws-ssh-base", "dumb-increment-protocol", "h2",
            ])
        func noNameOfAnInternalProtocolOpensTheGate(name: String) async throws {
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

        @Test func overTLSHTTP2IsNeitherNegotiatedNorSpoken() async throws {
            let certificates = try await DevCertificates.shared()
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple).tls(certificates) }
            let connection = try await edge.gateway.connect(TLSChoice(applicationProtocols: ["h2"]))
            connection.post(Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\u{0}\u{0}\u{0}\u{4}\u{0}\u{0}\u{0}\u{0}\u{0}".utf8))
            let bytes = try await connection.receiveToEnd()
            #expect(bytes.isEmpty || bytes.starts(with: Array("HTTP/1.".utf8)), "\(bytes)")
            try await edge.expectHealthy()
        }
    }
}
