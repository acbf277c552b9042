import Glibc
import ProxyProtocol
import Testing
import WireText

@testable import Reactors

/// Connections of trusted proxies: their client addresses, and connections without a valid header.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct ProxiedConnectionTests {
    private static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
    private static let v4: [UInt8] = [192, 0, 2, 1]
    private static let v6: [UInt8] = [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1]
    private static let v1 = Array("PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n".utf8)
    private static let v2 = signature + [0x21, 0x11, 0, 12] + v4 + [198, 51, 100, 7, 0xDC, 4, 1, 0xBB]

    struct Sample: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let header: [UInt8]
        /// Nil if the proxy's own address applies.
        let client: [UInt8]?
        var port: UInt16? = 56_324
    }

    static let samples = [
        Sample(testDescription: "v1", header: v1, client: v4),
        Sample(
            testDescription: "v1, IPv6", header: Array("PROXY TCP6 2001:db8::1 2001:db8::2 56324 443\r\n".utf8),
            client: v6),
        Sample(testDescription: "v1, unknown", header: Array("PROXY UNKNOWN\r\n".utf8), client: nil),
        Sample(testDescription: "v2", header: v2, client: v4),
        Sample(
            testDescription: "v2, IPv6", header: signature + [0x21, 0x21, 0, 36] + v6 + v6 + [0xDC, 4, 1, 0xBB],
            client: v6),
        Sample(
            testDescription: "v2, IPv4 as IPv6",
            header: signature + [0x21, 0x21, 0, 36] + ([UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + v4) + v6
                + [0xDC, 4, 1, 0xBB], client: v4),
        Sample(testDescription: "v2, LOCAL", header: signature + [0x20, 0, 0, 0], client: nil),
        Sample(
            testDescription: "v2 with a TLV",
            header: signature + [0x21, 0x11, 0, 16] + v4 + v4 + [0xDC, 4, 1, 0xBB, 4, 0, 1, 0], client: v4),
    ]

    @Test(arguments: samples)
    func `the client's address is the one in the header`(sample: Sample) async throws {
        let bench = EdgeBench()
        let port = try await bench.serve(.proxied)
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        socket.write(sample.header + Self.request)
        #expect(socket.readHead()?.hasPrefix("HTTP/1.1 404") == true)
        let seen = try #require(await bench.reactor.run { bench.seen })
        #expect(seen.peer.address.bytes == sample.client ?? [127, 0, 0, 1])
        #expect(seen.peer.port == (sample.client == nil ? socket.port : 56_324))
        #expect(seen.isUnnamed == (sample.client == nil))
        socket.close()
        await bench.stop()
    }

    /// Without TLS the TLS handshake's time limit doesn't apply either.
    @Test func `the header's time limit is independent of that of TLS`() async throws {
        var settings = EdgeSettings.proxied
        settings.limits.tlsHandshakeMilliseconds = 0
        let bench = EdgeBench()
        let port = try await bench.serve(settings)
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        while bench.census.total == 0 { await bench.reactor.run {} }
        await bench.reactor.run {}
        socket.write(Self.v1 + Self.request)
        #expect(socket.readHead()?.hasPrefix("HTTP/1.1 404") == true)
        socket.close()
        await bench.stop()
    }

    @Test(arguments: [v1, v2])
    func `header and request are separated however the bytes are split`(header: [UInt8]) async throws {
        let bench = EdgeBench()
        let port = try await bench.serve(.proxied)
        for cut in 0...header.count + 2 {
            let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
            let bytes = header + Self.request
            socket.write(Array(bytes[..<cut]))
            // The reactor has had a turn with the first part.
            await bench.reactor.run {}
            socket.write(Array(bytes[cut...]))
            #expect(socket.readHead()?.hasPrefix("HTTP/1.1 404") == true, "cut at \(cut)")
            #expect(await bench.reactor.run { bench.seen }?.peer.address.bytes == Self.v4)
            socket.close()
        }
        await bench.stop()
    }

    @Test func `a header that arrives byte by byte is read`() async throws {
        let bench = EdgeBench()
        let port = try await bench.serve(.proxied)
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        for byte in Self.v2 + Self.request {
            socket.write([byte])
            await bench.reactor.run {}
        }
        #expect(socket.readHead()?.hasPrefix("HTTP/1.1 404") == true)
        #expect(await bench.reactor.run { bench.seen }?.peer.address.bytes == Self.v4)
        socket.close()
        await bench.stop()
    }

    @Test(
        arguments: [
            request, [0x16, 3, 1, 2, 0, 1], Array("PROXY TCP4 1.2.3.4\r\n".utf8), signature + [0x31, 0x11, 0, 0],
            signature + [0x21, 0x11, 0xFF, 0xFF], Array("PROXY ".utf8) + [UInt8](repeating: 0x20, count: 200),
        ])
    func `a trusted peer without a valid header is closed`(bytes: [UInt8]) async throws {
        let bench = EdgeBench()
        let port = try await bench.serve(.proxied)
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        socket.write(bytes)
        #expect(socket.isEnded)
        #expect(await bench.reactor.run { bench.seen } == nil)
        #expect(bench.census.total == 0)
        socket.close()
        await bench.stop()
    }

    @Test(arguments: [[], Array(v2.dropLast()), Array(v1.dropLast())])
    func `a trusted peer with an incomplete header is closed at the time limit`(bytes: [UInt8]) async throws {
        var settings = EdgeSettings.proxied
        settings.limits.headerMilliseconds = 50
        let bench = EdgeBench()
        let port = try await bench.serve(settings)
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        socket.write(bytes)
        #expect(socket.isEnded)
        #expect(bench.census.total == 0)
        socket.close()
        await bench.stop()
    }

    @Test func `a proxy's port check leaves nothing behind`() async throws {
        let bench = EdgeBench()
        let port = try await bench.serve(.proxied)
        for half in [[], Array(Self.v2.prefix(5))] {
            let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
            socket.write(half)
            socket.finish()
            #expect(socket.isEnded)
            socket.close()
        }
        #expect(bench.census.total == 0)
        await bench.stop()
    }

    /// The header is parsed as HTTP, or with TLS as a TLS record, and is invalid either way.
    @Test(arguments: [v1, v2])
    func `a header of an untrusted peer is ignored`(header: [UInt8]) async throws {
        var settings = EdgeSettings.proxied
        settings.trustsProxy = { $0.address.bytes != [127, 0, 0, 1] }
        let bench = EdgeBench()
        let port = try await bench.serve(settings)
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        socket.write(header + Self.request)
        socket.finish()
        _ = socket.readAll()
        socket.close()
        #expect([nil, [127, 0, 0, 1]].contains(await bench.reactor.run { bench.seen?.peer.address.bytes }))
        await bench.stop()
    }

    @Test(.needsIPv6) func `a proxy on IPv6 is trusted by its own address`() async throws {
        var settings = EdgeSettings.plain
        settings.trustsProxy = { $0.address.bytes == [UInt8](repeating: 0, count: 15) + [1] }
        let bench = EdgeBench()
        let port = try await bench.serve(host: "::1", settings)
        let socket = try PlainSocket.connected(host: "::1", port: port)
        socket.write(Self.v1 + Self.request)
        #expect(socket.readHead()?.hasPrefix("HTTP/1.1 404") == true)
        #expect(await bench.reactor.run { bench.seen }?.peer.address.bytes == Self.v4)
        socket.close()
        await bench.stop()
    }

    /// One more connection than the proxy's own address would be allowed: clients are counted separately.
    @Test func `connections are counted by client, not by proxy`() async throws {
        let bench = EdgeBench(census: ConnectionCensus(maximum: 5, maximumPerAddress: 2))
        let port = try await bench.serve(.proxied)
        var sockets: [PlainSocket] = []
        func connect(_ client: String) throws -> PlainSocket {
            let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
            socket.write(Array("PROXY TCP4 \(client) 198.51.100.7 1 443\r\n".utf8) + Self.request)
            sockets.append(socket)
            return socket
        }
        for client in ["192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.2"] {
            #expect(try connect(client).readHead()?.hasPrefix("HTTP/1.1 404") == true)
        }
        #expect(bench.census.total == 4)
        #expect(try connect("192.0.2.1").isEnded)
        #expect(bench.census.total == 4)
        #expect(try connect("192.0.2.3").readHead()?.hasPrefix("HTTP/1.1 404") == true)
        // The total limit is reached: the header isn't even awaited.
        #expect(try connect("192.0.2.4").isEnded)
        sockets.forEach { $0.close() }
        await bench.drained()
        #expect(bench.census.total == 0)
        await bench.stop()
    }

    @Test func `a connection that waits for its header is closed when listening ends`() async throws {
        let bench = EdgeBench()
        let port = try await bench.serve(.proxied)
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        socket.write(Array(Self.v2.prefix(20)))
        while bench.census.total == 0 { await bench.reactor.run {} }
        await bench.stop()
        #expect(socket.isEnded)
        #expect(bench.census.total == 0)
        socket.close()
    }

    /// TLS follows the header directly, in the same segment, and must stay in the socket.
    @Test(arguments: [v1, v2, signature + [0x20, 0, 0, 0]])
    func `TLS begins directly after the header`(header: [UInt8]) async throws {
        var settings = EdgeSettings.proxied
        settings.tls = .test
        // Threads of the tests beside it may be slow.
        (settings.limits.tlsHandshakeMilliseconds, settings.limits.headerMilliseconds) = (60_000, 60_000)
        let server = EdgeBench { webSocket in
            webSocket.sendMessage(UnsafeRawBufferPointer(start: nil, count: 0), isText: true)
        }
        let port = try await server.serve(settings)
        let proxy = try PlainServer()
        async let carried: Void? = proxy.serve { client in carry(client, to: port, header: header) }
        let client = EdgeBench()
        let dialledPort = proxy.port
        try await client.reactor.run {
            Result { () throws(ReactorError) in
                var settings = EdgeClientSettings(host: "127.0.0.1", port: dialledPort, isTLS: true)
                settings.caPath = TestCertificates.authorityFile.path
                let dialler = try EdgeClient(on: client.reactor, settings: settings)
                dialler.connect(headers: [], handler: client) { Issue.record("\($0)") }
            }
        }.get()
        for await event in client.events {
            guard case .message(let message) = event else { continue }
            #expect(message == ReceivedMessage(isText: true, payload: []))
            break
        }
        let seen = try #require(await server.reactor.run { server.seen })
        #expect(seen.peer.address.bytes == (header.count > 16 ? Self.v4 : [127, 0, 0, 1]))
        await client.reactor.run { client.clientSocket?.drop() }
        await carried
        await server.stop()
    }

    /// A plaintext header is not TLS.
    @Test func `over TLS a header from an untrusted peer ends the connection`() async throws {
        var settings = EdgeSettings.plain
        settings.tls = .test
        let bench = EdgeBench()
        let port = try await bench.serve(settings)
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        socket.write(Self.v2)
        #expect(socket.isEnded)
        #expect(await bench.reactor.run { bench.seen } == nil)
        socket.close()
        await bench.stop()
    }

    private static let request = Array("GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
}

/// Acts as a proxy for one connection: sends the header and the client's first bytes in one write, then forwards
/// everything.
private func carry(_ client: PlainSocket, to port: UInt16, header: [UInt8]) {
    guard let server = try? PlainSocket.connected(host: "127.0.0.1", port: port) else { return }
    guard let first = client.read(upTo: 65_536) else { return server.close() }
    server.write(header + first)
    startThread {
        while let bytes = client.read(upTo: 65_536), !bytes.isEmpty { server.write(bytes) }
        server.finish()
    }
    while let bytes = server.read(upTo: 65_536), !bytes.isEmpty { client.write(bytes) }
    client.finish()
}

extension EdgeSettings {
    fileprivate static var proxied: EdgeSettings {
        var settings = EdgeSettings.plain
        settings.trustsProxy = { $0.address.bytes == [127, 0, 0, 1] }
        return settings
    }
}

extension EdgeBench {
    /// Waits until all connections are closed.
    fileprivate func drained() async {
        while await reactor.run({ self.openConnections }) > 0 {}
    }
}

extension PlainSocket {
    /// Whether the other end closes or resets the connection and sends nothing before except TLS alerts.
    fileprivate var isEnded: Bool {
        while let bytes = read(upTo: 65_536) {
            if bytes.isEmpty { return true }
            if bytes.first != 0x15 { return false }  // An alert (RFC 8446 §6).
        }
        return errno == ECONNRESET
    }
}

extension TLSSettings {
    /// Uses a certificate for 127.0.0.1.
    static var test: TLSSettings {
        TLSSettings(
            certificatePath: TestCertificates.serverFiles.certificate.path,
            privateKeyPath: TestCertificates.serverFiles.key.path)
    }
}
