import ForwardingWire
import Testing
import WireText

@testable import Reactors

/// Two gateways with real TLS between them: a client of B whose session A has.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct ForwardingTests {
    private let a = GatewayBench(on: TestReactor.started())
    private let b = GatewayBench(on: TestReactor.started())

    /// - Returns: B's port for clients.
    private func connect(host: String = "127.0.0.1", _ limits: ForwardLimits = ForwardLimits()) async throws -> UInt16 {
        try await b.forward(to: a.serveGateways(), host: host, limits)
        return try await b.serve()
    }

    private func client(_ port: UInt16, _ bytes: [UInt8] = upgradeRequest()) throws -> PlainSocket {
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        socket.write(bytes)
        return socket
    }

    private static func isEnd(_ event: GatewayBench.Event) -> Bool { if case .ended = event { true } else { false } }
    private static func isUpgrade(_ event: GatewayBench.Event) -> Bool {
        if case .upgrade = event { true } else { false }
    }

    @Test(arguments: ["127.0.0.1", "localhost"])
    func `a client gets the same bytes through another gateway as from its own`(host: String) async throws {
        let port = try await connect(host: host)
        let direct = try await a.serve()
        let messages = [0, 1, 125, 126, 16_380, 16_381, 40_000].map { [UInt8](repeating: UInt8($0 % 251), count: $0) }
        var streams: [[UInt8]] = []
        for port in [direct, port] {
            let socket = try client(port)
            var seen = Array(try #require(socket.readHead()).utf8)
            for message in messages {
                socket.write(clientFrame(2, message))
                var got: [UInt8] = []
                while ReceivedFrame.all(in: got).map({ $0.frames.last?.isFinal != true || $0.consumed < got.count })
                    ?? true
                {
                    got += try #require(socket.read(upTo: 65_536))
                }
                seen += got
            }
            socket.write(clientFrame(8, [3, 232]))
            seen += try #require(socket.readAll())
            streams.append(seen)
        }
        #expect(streams[0] == streams[1])
        #expect(await b.next(Self.isEnd) == .ended(.inOrder))
        await a.stop()
        await b.stop()
    }

    @Test func `the other gateway knows the client, and that it is another gateway's`() async throws {
        let port = try await connect()
        let socket = try client(port)
        _ = try #require(socket.readHead())
        let mine = SocketAddress(IPAddress(ipv4: (127, 0, 0, 1)), port: socket.port)
        let preface = ForwardPreface(client: mine, isTLS: false, requestID: "0123456789abcdef")
        #expect(
            await a.next(Self.isUpgrade) == .upgrade(peer: mine, isTLS: false, forwarded: preface, certified: nil))
        socket.close()
        await a.stop()
        await b.stop()
    }

    /// A verifies it by its own authorities, whatever B says.
    @Test(arguments: [true, false])
    func `a client's certificate is verified by both gateways`(isTrustedByA: Bool) async throws {
        var settings = EdgeSettings.plain
        settings.tls = .test
        settings.tls?.clientCAPath = FleetCertificates.playersFile.path
        var others = settings
        if !isTrustedByA { others.tls?.clientCAPath = TestCertificates.authorityFile.path }
        _ = try await connect()
        let secured = try await b.serve(settings)
        _ = try await a.serve(others)
        let player = TestIdentity("Ann", by: FleetCertificates.playersAuthority)
        let client = try #require(
            TLSPeer.connect(try PlainSocket.connected(host: "127.0.0.1", port: secured), presenting: player))
        client.write(upgradeRequest())
        #expect(String(decoding: try #require(client.read(upTo: 4_096)), as: UTF8.self).hasPrefix("HTTP/1.1 101 "))
        guard case .upgrade(_, let isTLS, _, let certified) = await a.next(Self.isUpgrade) else { return }
        #expect(isTLS)
        #expect(certified == (isTrustedByA ? "CN=Ann" : "unverified"))
        client.socket.close()
        await a.stop()
        await b.stop()
    }

    @Test func `a refusal of the other gateway is the client's`() async throws {
        let port = try await connect()
        await a.set {
            $0.refusal = HTTPAnswer(status: 401, headers: [("X-Refusal-Code", "no")], body: Array("{}".utf8))
        }
        let socket = try client(port)
        let answer = String(decoding: try #require(socket.readAll()), as: UTF8.self)
        #expect(answer.hasPrefix("HTTP/1.1 401 ") && answer.contains("X-Refusal-Code: no") && answer.hasSuffix("{}"))
        #expect(await b.next(Self.isEnd) == .ended(.inOrder))
        await a.stop()
        await b.stop()
    }

    @Test func `what a client sends behind its request isn't lost`() async throws {
        let port = try await connect()
        let socket = try client(port, upgradeRequest() + clientFrame(1, Array("early".utf8)))
        _ = try #require(socket.readHead())
        #expect(try #require(socket.readFrames { $0.count == 1 }).map(\.payload) == [Array("early".utf8)])
        socket.close()
        await a.stop()
        await b.stop()
    }

    @Test(arguments: [true, false])
    func `the other gateway hears when the client leaves, before and after the answer`(isAnswered: Bool) async throws {
        let port = try await connect()
        await a.set { $0.keepsUndecided = !isAnswered }
        let socket = try client(port)
        if isAnswered { _ = try #require(socket.readHead()) }
        _ = await a.next(Self.isUpgrade)
        socket.hangUp(resets: true)
        if isAnswered {
            #expect(await a.next { $0 == .closed } == .closed)
            #expect(await b.next(Self.isEnd) == .ended(.inOrder))
        } else {
            #expect(await a.reactor.isEmpty())
        }
        await a.stop()
        await b.stop()
    }

    @Test func `a gateway that drains says so itself, and the session hears no Close frame`() async throws {
        let port = try await connect()
        let socket = try client(port)
        _ = try #require(socket.readHead())
        _ = await a.next { $0 == .opened }
        await b.set { $0.forwarded?.close(code: 1_012, reason: "later") }
        let frames = try #require(socket.readFrames { $0.count == 1 })
        #expect(frames[0].opcode == 8 && frames[0].payload == [3, 244] + Array("later".utf8))
        socket.write(clientFrame(1, Array("last".utf8)) + clientFrame(8, [3, 232]))
        #expect(try #require(socket.readAll()).isEmpty)
        #expect(await a.next { if case .message = $0 { true } else { $0 == .closed } } == .message(Array("last".utf8)))
        #expect(await a.next { if case .peerClosed = $0 { true } else { $0 == .closed } } == .closed)
        #expect(await b.next(Self.isEnd) == .ended(.closed))
        await a.stop()
        await b.stop()
    }

    // MARK: Back-pressure

    @Test func `a client that doesn't read stops the other gateway, and loses nothing`() async throws {
        let port = try await connect()
        let socket = try client(port)
        _ = try #require(socket.readHead())
        _ = await a.next { $0 == .opened }
        let bytes = [UInt8](repeating: 0x55, count: 16 << 20)
        await a.set { bench in bytes.withUnsafeBytes { bench.webSocket?.send($0) } }
        // The kernel's buffers and the gateways' take a part; then nothing moves.
        var last = -1
        while true {
            let queued = await a.reactor.run { a.webSocket?.queuedBytes ?? 0 }
            let isFull = await b.reactor.run { b.forwarded?.isPausingTransport ?? false }
            if isFull, queued == last { break }
            last = queued
            await b.reactor.turns(3)
        }
        #expect(last > 0)
        #expect(
            await b.reactor.run { b.forwarded?.waitingForClient ?? 0 } <= ForwardLimits().queueBytes
                + Reactor.readBufferBytes)
        var got = 0
        var rest: [UInt8] = []
        while got < bytes.count {
            rest += try #require(socket.read(upTo: 65_536))
            let (frames, consumed) = try #require(ReceivedFrame.all(in: rest))
            got += frames.reduce(0) { $0 + $1.payload.count }
            rest = Array(rest[consumed...])
        }
        #expect(got == bytes.count)
        socket.close()
        await a.stop()
        await b.stop()
    }

    @Test func `another gateway that doesn't read stops the client, and loses nothing`() async throws {
        let port = try await connect()
        await a.set {
            $0.pausesReading = true
            $0.echoes = false
        }
        let socket = try client(port)
        _ = try #require(socket.readHead())
        _ = await a.next { $0 == .opened }
        let frame = clientFrame(2, [UInt8](repeating: 0x66, count: 50_000))
        var sent = 0
        while true {
            let more = socket.fill(with: Array(frame[(sent % frame.count)...] + frame[..<(sent % frame.count)]))
            sent += more
            if more == 0, await b.reactor.run({ b.forwarded?.isPausingClient ?? false }) { break }
            await b.reactor.turns(3)
        }
        #expect(
            await b.reactor.run { b.forwarded?.waitingForGateway ?? 0 } <= ForwardLimits().queueBytes + 2
                * Reactor.readBufferBytes)
        await a.set { $0.webSocket?.setReading(paused: false) }
        let whole = sent / frame.count
        if sent % frame.count > 0 { socket.write(Array(frame[(sent % frame.count)...])) }
        let messages = whole + (sent % frame.count > 0 ? 1 : 0)
        for _ in 0..<messages { _ = await a.next { if case .message = $0 { true } else { false } } }
        #expect(await a.reactor.run { a.received } == messages * 50_000)
        socket.close()
        await a.stop()
        await b.stop()
    }
}

extension Reactor {
    /// Lets some turns of the loop pass.
    func turns(_ count: Int) async { for _ in 0..<count { await run {} } }

    /// Waits until no connection of a client or a gateway is left in HTTP.
    func isEmpty() async -> Bool {
        while await run({ self.edge?.connectionsInHTTP ?? 0 }) > 0 { await turns(1) }
        return true
    }
}
