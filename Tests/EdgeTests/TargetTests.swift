import EdgeTestKit
import Testing

extension EdgeTests {
    /// The target that a client reaches, and what the target is told about the client.
    @Suite struct TargetTests {
        private typealias T = TelnetBytes

        // MARK: Routes

        @Test func `a route is chosen by path, by query and by the typed protocol`() async throws {
            let second = try await TargetServer.start()
            let edge = try await start { $0.setting("MUD_ROUTES", "second=127.0.0.1:\(second.port)") }
            for path in ["/mud/second", "/?target=second", "/mud/second?cols=80"] {
                let number = second.connectionCount
                let socket = try await edge.gateway.open(Handshake().path(path))
                let target = try await second.connection(number)
                try await socket.send(text: path)
                #expect(try await target.receiveText(path.utf8.count) == path)
            }
            #expect(edge.target.connectionCount == 0)
            let fourth = second.connectionCount
            let byPath = try await edge.gateway.open(Handshake().path("/mud/second"))
            try await byPath.connectTyped(#""target":"""#)
            try await second.connection(fourth).send("by path")
            #expect(try await byPath.nextTyped("data").payload == "by path")
            let number = second.connectionCount
            let typed = try await edge.gateway.open()
            try await typed.connectTyped(#""target":"second""#)
            try await second.connection(number).send("second")
            #expect(try await typed.nextTyped("data").payload == "second")
        }

        @Test func `an unknown route is refused`() async throws {
            let second = try await TargetServer.start()
            let edge = try await start { $0.setting("MUD_ROUTES", "second=127.0.0.1:\(second.port)") }
            for path in ["/mud/third", "/?target=third"] {
                let close = try await edge.gateway.open(Handshake().path(path)).closedByServer()
                #expect(close.code == 1008 && close.reason == "target is not allowed")
            }
            expectRefusal(
                try await edge.gateway.refusal(Handshake().path("/mud/second?target=second")), 404,
                "not_found")
            let typed = try await edge.gateway.open()
            try await typed.send(text: #"{"type":"connect","target":"third"}"#)
            let error = try await typed.nextTyped("error")
            #expect(error["code"] == "invalid_request" && error["message"] == "target is not allowed")
            #expect(error["field"] == "target")
            // It may name another one.
            try await typed.connectTyped(#""target":"second""#)
        }

        /// Refused before its challenge is spent: the same request still opens the other target.
        @Test func `a route for debug clients refuses a device and admits a certificate`() async throws {
            let certificates = try await DevCertificates.shared()
            let apple = try SimulatedApple()
            let staging = try await TargetServer.start(.echo)
            let edge = try await Edge.start {
                $0.tls(certificates).clientCA(certificates).appAttest(apple)
                    .setting("MUD_ROUTES", "staging=127.0.0.1:\(staging.port),admit=cert")
            }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let handshake = try await device.handshake(at: edge.gateway)
            expectRefusal(try await edge.gateway.refusal(handshake.path("/mud/staging")), 403, "way_not_allowed")
            #expect(staging.connectionCount == 0)
            try await Edge.expectEcho(edge.gateway.open(handshake))
            let tls = TLSChoice(identity: certificates.client)
            try await Edge.expectEcho(edge.gateway.open(Handshake().path("/mud/staging"), tls: tls))
            // A dialect's message allows no more targets than the path.
            let typed = try await edge.gateway.open(device.handshake(at: edge.gateway))
            try await typed.send(text: #"{"type":"connect","target":"staging"}"#)
            #expect(try await typed.nextTyped("error")["code"] == "invalid_request")
            #expect(staging.connectionCount == 1)
        }

        // MARK: Addresses

        @Test func `a listed target is reached and no other`() async throws {
            let (listed, other) = (try await TargetServer.start(), try await TargetServer.start())
            let edge = try await start {
                $0.setting("TARGET_MODE", "allowlist").setting("TARGET_ALLOWLIST", "127.0.0.1:\(listed.port)")
            }
            let socket = try await edge.gateway.open()
            for address in [
                #""host":"127.0.0.1","port":\#(other.port)"#,
                #""host":"mud.example","port":\#(listed.port)"#,
                #""host":"127.0.0.1/","port":\#(listed.port)"#,
            ] {
                try await socket.send(text: #"{"type":"connect",\#(address)}"#)
                #expect(try await socket.nextTyped("error")["message"] == "host is not allowed")
            }
            try await socket.connectTyped(#""host":"127.0.0.1","port":\#(listed.port)"#)
            try await listed.connection().send("listed")
            #expect(try await socket.nextTyped("data").payload == "listed")
            #expect(other.connectionCount == 0)
        }

        /// A client that knows no host, such as a web page, needn't name one.
        @Test(arguments: ["allowlist", "arbitrary"]) func `an empty target means the default target`(mode: String)
            async throws
        {
            let apple = try SimulatedApple()
            let (list, entry) = mode == "allowlist" ? ("TARGET_ALLOWLIST", "a.example:1") : ("TARGET_PORTS", "1")
            let edge = try await Edge.start(.scripted) {
                $0.appAttest(apple).setting("TARGET_MODE", mode).setting(list, entry)
            }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let socket = try await edge.gateway.open(device.handshake(at: edge.gateway))
            try await socket.connectTyped(#""target":"""#)
            try await edge.target.connection().send("default")
            #expect(try await socket.nextTyped("data").payload == "default")
        }

        /// In `fixed` mode the address that old clients always send is ignored; the fixed target is used.
        @Test func `a fixed gateway has one target`() async throws {
            let other = try await TargetServer.start()
            let edge = try await start()
            let socket = try await edge.gateway.open()
            try await socket.connectTyped(#""host":"127.0.0.1","port":\#(other.port)"#)
            try await edge.target.connection().send("fixed")
            #expect(try await socket.nextTyped("data").payload == "fixed")
            #expect(other.connectionCount == 0)
        }

        // MARK: PROXY protocol

        @Test func `a PROXY header of version 1 is sent first`() async throws {
            let edge = try await start { $0.setting("PROXY_PROTOCOL", "v1") }
            let socket = try await edge.gateway.open(Handshake().offering("telnet"))
            try await socket.send(text: "look")
            let target = try await edge.target.connection()
            let header = String(decoding: try await target.receive(upTo: "\r\n"), as: UTF8.self)
            let fields = header.split(whereSeparator: { $0 == " " || $0 == "\r\n" }).map(String.init)
            #expect(fields.prefix(4) == ["PROXY", "TCP4", "127.0.0.1", "127.0.0.1"], "\(header)")
            #expect(fields.count == 6 && UInt16(fields[4]) != nil && fields.last == "\(edge.target.port)", "\(header)")
            #expect(try await target.receiveText(4) == "look")
        }

        @Test func `a PROXY header of version 2 contains session and identity`() async throws {
            let apple = try SimulatedApple()
            let edge = try await start { $0.appAttest(apple).setting("PROXY_PROTOCOL", "v2") }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let handshake = try await device.handshake(at: edge.gateway).offering("telnet")
            let socket = try await edge.gateway.open(handshake)
            try await socket.send(text: "look")
            let target = try await edge.target.connection()
            let header = try await ReceivedProxyHeader(target)
            #expect(header.versionAndCommand == 0x21 && header.familyAndProtocol == 0x11)
            #expect(header.source == [127, 0, 0, 1] && header.destination == [127, 0, 0, 1])
            #expect(header.destinationPort == edge.target.port)
            #expect(header.text(0xE0) == "app_attest:\(device.keyID)")
            let session = try #require(header.text(0x05))
            try await edge.gateway.auditLine("\"event\":\"upgrade\"", session)
            #expect(try await target.receiveText(4) == "look")
        }

        /// A route may override the gateway's setting; without a header nothing precedes the first byte.
        @Test func `a route may have its own header`() async throws {
            let second = try await TargetServer.start()
            let edge = try await start {
                $0.setting("MUD_ROUTES", "second=127.0.0.1:\(second.port),proxy=v2")
            }
            let plain = try await edge.gateway.open(Handshake().offering("telnet"))
            try await plain.send(text: "look")
            #expect(try await edge.target.connection().receiveText(4) == "look")
            let other = try await edge.gateway.open(Handshake().offering("telnet").path("/mud/second"))
            let header = try await ReceivedProxyHeader(second.connection())
            #expect(header.text(0xE0) == "anonymous")
            try await other.close()
        }

        // MARK: Keep-alive

        @Test func `an idle target that negotiates gets NOPs in a telnet session, and no other one does`() async throws
        {
            let edge = try await start { $0.setting("MUD_KEEPALIVE_SECONDS", 1) }
            let raw = try await edge.gateway.open(Handshake().offering("telnet"))
            let rawTarget = try await edge.target.connection(0)
            let terminal = try await edge.gateway.open(Handshake().offering("terminal.mudstandards.org"))
            let target = try await edge.target.connection(1)
            let other = try await edge.gateway.open(Handshake().offering("terminal.mudstandards.org"))
            let plain = try await edge.target.connection(2)
            try await target.send([T.iac, T.will, T.echo])
            _ = try await target.receive(upTo: [T.iac, T.do, T.echo])
            for _ in 0..<2 { #expect(try await target.receive(2) == [T.iac, T.noOperation]) }
            try await terminal.close()
            for (socket, silent) in [(raw, rawTarget), (other, plain)] {
                try await socket.send(text: "look")
                #expect(try await silent.receiveText(4) == "look")
            }
            // One that begins to negotiate late, without any input.
            try await plain.send([T.iac, T.will, T.echo])
            _ = try await plain.receive(upTo: [T.iac, T.do, T.echo])
            #expect(try await plain.receive(2) == [T.iac, T.noOperation])
        }

        // MARK: Proxies in front

        @Test func `a trusted proxy's address header is used`() async throws {
            let edge = try await start {
                $0.setting("TRUSTED_PROXY_CIDRS", "127.0.0.1").setting("PROXY_PROTOCOL", "v1")
            }
            let handshake = Handshake().offering("telnet").adding("X-Forwarded-For", "198.51.100.7, 203.0.113.9")
            let socket = try await edge.gateway.open(handshake)
            let line = try await edge.gateway.auditLine("\"event\":\"upgrade\"")
            #expect(line.contains("203.0.113.9") && !line.contains("198.51.100.7") && !line.contains("127.0.0.1"))
            let header = try await edge.target.connection().receive(upTo: "\r\n")
            #expect(header.starts(with: Array("PROXY TCP4 203.0.113.9 127.0.0.1 ".utf8)))
            try await socket.close()
        }

        @Test func `the configured address header of a proxy is used`() async throws {
            let edge = try await start {
                $0.setting("TRUSTED_PROXY_CIDRS", "127.0.0.1").setting("TRUSTED_PROXY_HEADER", "forwarded")
            }
            let handshake = Handshake().adding("Forwarded", "for=198.51.100.7, for=\"[2001:db8::9]:4711\";proto=https")
                .adding("X-Forwarded-For", "203.0.113.9")
            let socket = try await edge.gateway.open(handshake)
            let line = try await edge.gateway.auditLine("\"event\":\"upgrade\"")
            #expect(line.contains("2001:db8::9"), "\(line)")
            #expect(!line.contains("198.51.100.7") && !line.contains("203.0.113.9") && !line.contains("127.0.0.1"))
            try await socket.close()
        }

        @Test func `without TLS a PROXY header names the client`() async throws {
            let edge = try await start(proxied)
            let connection = try await edge.gateway.connect()
            try await connection.send("PROXY TCP4 203.0.113.9 192.0.2.1 4711 443\r\n" + Self.upgrade)
            let line = try await edge.gateway.auditLine("\"event\":\"upgrade\"")
            #expect(line.contains("203.0.113.9") && !line.contains("127.0.0.1"), "\(line)")
        }

        /// The proxy stated that it doesn't know the address, so what the request claims comes from the client.
        @Test func `if a PROXY header names no client no other header does`() async throws {
            let edge = try await start(proxied)
            let connection = try await edge.gateway.connect()
            try await connection.send("PROXY UNKNOWN\r\n" + Self.upgrade)
            let line = try await edge.gateway.auditLine("\"event\":\"upgrade\"")
            #expect(line.contains("127.0.0.1") && !line.contains("198.51.100.7"), "\(line)")
        }

        private func proxied(_ settings: GatewaySettings) -> GatewaySettings {
            settings.setting("TRUSTED_PROXY_CIDRS", "127.0.0.1").setting("INBOUND_PROXY_PROTOCOL", "true")
        }

        private static let upgrade = [
            "GET / HTTP/1.1", "Host: localhost", "Connection: Upgrade", "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "X-Forwarded-For: 198.51.100.7", "", "",
        ].joined(separator: "\r\n")

        @Test func `an untrusted client's address header is ignored`() async throws {
            let edge = try await start { $0.setting("TRUSTED_PROXY_CIDRS", "192.0.2.0/24") }
            let handshake = Handshake().adding("X-Forwarded-For", "203.0.113.9")
                .adding("Forwarded", "for=203.0.113.9")
            _ = try await edge.gateway.open(handshake)
            let line = try await edge.gateway.auditLine("\"event\":\"upgrade\"")
            #expect(line.contains("127.0.0.1") && !line.contains("203.0.113.9"), "\(line)")
        }

        private func start(_ change: (GatewaySettings) -> GatewaySettings = { $0 }) async throws -> Edge {
            try await Edge.start(.scripted, change)
        }
    }
}

/// A PROXY header of version 2, read by hand (section 2.2 of its specification).
private struct ReceivedProxyHeader {
    let versionAndCommand: UInt8
    let familyAndProtocol: UInt8
    let source: [UInt8]
    let destination: [UInt8]
    let destinationPort: Int
    private var values: [UInt8: [UInt8]] = [:]

    /// Removes it from the front of what a target has received; IPv4 only.
    init(_ target: TargetConnection) async throws {
        let signature: [UInt8] = [
            0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A,
        ]
        let fixed = try await target.receive(16)
        guard fixed.starts(with: signature) else { throw EdgeTestError("no PROXY header: \(fixed)") }
        versionAndCommand = fixed[12]
        familyAndProtocol = fixed[13]
        let body = try await target.receive(Int(fixed[14]) << 8 | Int(fixed[15]))
        guard body.count >= 12 else { throw EdgeTestError("a short PROXY header: \(body)") }
        source = Array(body[0..<4])
        destination = Array(body[4..<8])
        destinationPort = Int(body[10]) << 8 | Int(body[11])
        var rest = body[12...]
        while let type = rest.first {
            guard rest.count >= 3 else { throw EdgeTestError("a broken TLV: \(rest)") }
            let length = rest.dropFirst().prefix(2).reduce(0) { $0 << 8 | Int($1) }
            guard rest.count >= 3 + length else { throw EdgeTestError("a broken TLV: \(rest)") }
            values[type] = Array(rest.dropFirst(3).prefix(length))
            rest = rest.dropFirst(3 + length)
        }
    }

    func text(_ type: UInt8) -> String? { values[type].map { String(decoding: $0, as: UTF8.self) } }
}
