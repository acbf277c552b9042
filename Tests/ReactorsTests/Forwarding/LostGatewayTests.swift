import COpenSSL
import ForwardingWire
import Testing
import WireText

@testable import Reactors

/// A client of B, whose other gateway fails. It is played by OpenSSL's own calls.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct LostGatewayTests {
    private let b = GatewayBench(on: TestReactor.started())
    private static let switching = Array("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n".utf8)

    private func client(_ server: PlainServer, host: String = "127.0.0.1", _ limits: ForwardLimits = ForwardLimits())
        async throws -> PlainSocket
    {
        try await b.forward(to: server.port, host: host, limits)
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: try await b.serve())
        socket.write(upgradeRequest())
        return socket
    }

    private static func isFailure(_ event: GatewayBench.Event) -> Bool {
        if case .failed = event { true } else { false }
    }

    private static func accept(
        _ socket: PlainSocket, _ identity: TestIdentity = FleetCertificates.gateway, version: Int32? = nil
    )
        -> TLSPeer?
    {
        TLSPeer.accept(socket, TLSPeer.Settings(identity: identity, version: version))
    }

    @Test(arguments: [true, false])
    func `when the other gateway dies its clients are told at once, behind a whole frame`(resets: Bool) async throws {
        let server = try PlainServer()
        async let gateway = server.serve { socket in
            guard let peer = Self.accept(socket), peer.read(upTo: 4_096) != nil else { return false }
            // One frame and the beginning of the next.
            peer.write(Self.switching + [0x81, 2, 72, 105, 0x81, 9, 1])
            // A reset may discard what hasn't been read: the client has seen it when it answers.
            _ = peer.read(upTo: 4_096)
            socket.hangUp(resets: resets)
            return true
        }
        let socket = try await client(server)
        #expect(try #require(socket.readHead()).hasPrefix("HTTP/1.1 101 "))
        let first = try #require(socket.readFrames { $0.count == 1 })
        socket.write(clientFrame(1, [1]))
        let last = try #require(socket.readFrames { $0.count == 1 })
        #expect(first.map(\.payload) == [Array("Hi".utf8)])
        #expect(last[0].opcode == 8)
        #expect(last[0].payload == [3, 244] + Array(OutboundForward.lostText.utf8))
        socket.write(clientFrame(8, [3, 244]))
        #expect(try #require(socket.readAll()).isEmpty)
        #expect(await gateway == true)
        guard case .ended(.lost) = await b.next({ if case .ended = $0 { true } else { false } }) else {
            Issue.record("not lost")
            return
        }
        await b.stop()
    }

    /// The gateway doesn't wait for ever for the client's Close frame.
    @Test func `a client that doesn't answer the Close frame is cut off`() async throws {
        let server = try PlainServer()
        async let gateway = server.serve { socket in
            guard let peer = Self.accept(socket), peer.read(upTo: 4_096) != nil else { return false }
            return peer.write(Self.switching)
        }
        let socket = try await client(server)
        _ = try #require(socket.readHead())
        #expect(try #require(socket.readAll()).first == 0x88)
        #expect(await gateway == true)
        await b.stop()
    }

    @Test func `a gateway that falls silent is lost after the limit`() async throws {
        let server = try PlainServer()
        let done = Semaphore()
        async let gateway = server.serve { socket in
            guard let peer = Self.accept(socket), peer.read(upTo: 4_096) != nil else { return false }
            peer.write(Self.switching)
            done.wait()
            return true
        }
        var limits = ForwardLimits()
        limits.idleSeconds = 1
        let socket = try await client(server, limits)
        _ = try #require(socket.readHead())
        #expect(try #require(socket.readFrames { $0.count == 1 })[0].opcode == 8)
        done.post()
        socket.close()
        #expect(await gateway == true)
        await b.stop()
    }

    /// While it doesn't read, nothing is heard of the other gateway: not even that it has closed the connection.
    @Test func `a client that takes nothing is dropped after the limit`() async throws {
        let server = try PlainServer()
        async let gateway = server.serve { socket in
            guard let peer = Self.accept(socket), peer.read(upTo: 4_096) != nil else { return false }
            peer.write(Self.switching)
            // More than the buffers on the way have room for: it ends when the gateway has closed the connection.
            let frame = [0x82, 0x7E, 0x40, 0] + [UInt8](repeating: 0x55, count: 16_384)
            for _ in 0..<100_000 where !peer.write(frame) { return true }
            return false
        }
        var limits = ForwardLimits()
        limits.idleSeconds = 1
        let socket = try await client(server, limits)
        _ = try #require(socket.readHead())
        let end = await b.next { if case .ended = $0 { true } else { false } }
        #expect(end == .ended(.lost("its client took nothing for 1 s")))
        #expect(await gateway == true)
        #expect(await b.reactor.run { b.forwarded?.waitingForClient } == 0)
        socket.close()
        await b.stop()
    }

    @Test func `a gateway that doesn't answer leaves the upgrade undecided`() async throws {
        let server = try PlainServer()
        let done = Semaphore()
        async let gateway = server.serve { socket in
            guard let peer = Self.accept(socket), peer.read(upTo: 4_096) != nil else { return false }
            peer.write(Array("HTTP/1.1 101".utf8))
            done.wait()
            return true
        }
        try await b.forward(to: server.port)
        var settings = EdgeSettings.plain
        settings.limits.upgradeMilliseconds = 300
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: try await b.serve(settings))
        socket.write(upgradeRequest())
        #expect(try #require(socket.readHead()).hasPrefix("HTTP/1.1 503 "))
        done.post()
        socket.close()
        #expect(await gateway == true)
        await b.stop()
    }

    @Test(arguments: ["", "HTTP/1.1 101 Sw", "SSH-2.0-OpenSSH\r\n\r\n"])
    func `a gateway that answers with something else gives a refusal`(text: String) async throws {
        let server = try PlainServer()
        async let gateway = server.serve { socket in
            guard let peer = Self.accept(socket), peer.read(upTo: 4_096) != nil else { return false }
            return peer.write(Array(text.utf8))
        }
        let socket = try await client(server)
        #expect(try #require(socket.readHead()).hasPrefix("HTTP/1.1 503 "))
        #expect(await b.next(Self.isFailure) != nil)
        #expect(await gateway == true)
        await b.stop()
    }

    @Test func `a gateway that can't be reached gives a refusal`() async throws {
        let server = try PlainServer()
        let port = server.port
        server.close()
        try await b.forward(to: port)
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: try await b.serve())
        socket.write(upgradeRequest())
        #expect(try #require(socket.readHead()).hasPrefix("HTTP/1.1 503 "))
        #expect(await b.next(Self.isFailure) != nil)
        await b.stop()
    }

    /// What the one end of the pair must be, so that a client's request is sent to it.
    enum Impostor: CaseIterable, Sendable {
        case otherAuthority, selfSigned, expired, otherHost, notGateway, clientOnly, oldTLS

        var identity: TestIdentity {
            let names = FleetCertificates.names
            let authority = FleetCertificates.authority
            return switch self {
            case .otherAuthority: TestIdentity("x", names: names, by: FleetCertificates.playersAuthority)
            case .selfSigned: TestIdentity("x", names: names)
            case .expired: TestIdentity("x", names: names, by: authority, days: -1)
            case .otherHost: TestIdentity("x", names: "DNS:other,DNS:\(FleetCertificates.role)", by: authority)
            case .notGateway: TestIdentity("x", names: "DNS:localhost,IP:127.0.0.1", by: authority)
            case .clientOnly: TestIdentity("x", names: names, by: authority, usage: "clientAuth")
            case .oldTLS: FleetCertificates.gateway
            }
        }
    }

    @Test(arguments: Impostor.allCases)
    func `nothing of a client is sent to what isn't a gateway of the fleet`(impostor: Impostor) async throws {
        let server = try PlainServer()
        let identity = impostor.identity
        async let read = server.serve { socket -> [UInt8] in
            let version = impostor == .oldTLS ? TLS1_2_VERSION : nil
            return Self.accept(socket, identity, version: version)?.read(upTo: 4_096) ?? []
        }
        let socket = try await client(server)
        #expect(try #require(socket.readHead()).hasPrefix("HTTP/1.1 503 "))
        #expect(await b.next(Self.isFailure) != nil)
        #expect(await read == [])
        await b.stop()
    }
}
