import CLibuv
import COpenSSL
import Glibc
import Testing

@testable import Reactors

/// A connection to a target over TLS, against OpenSSL as a server on blocking sockets.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct TargetConnectionTests {
    private static let hello = Array("hello".utf8)
    private static let versions: [(Int32, String)] = [(TLS1_2_VERSION, "TLSv1.2"), (TLS1_3_VERSION, "TLSv1.3")]

    private func echo(_ socket: PlainSocket, _ settings: TLSPeer.Settings) {
        guard let peer = TLSPeer.accept(socket, settings) else { return }
        while let bytes = peer.read(upTo: 65_536), !bytes.isEmpty { peer.write(bytes) }
        peer.sendCloseNotify()
    }

    @Test(arguments: versions)
    func `sent bytes come back through TLS`(version: Int32, name: String) async throws {
        let server = try PlainServer()
        async let peer: Void? = server.serve { echo($0, .init(version: version)) }
        var (connection, heard) = await WatchedTarget.dial(server.port, tls: try .test())
        #expect(await heard.next() == .connected)
        #expect(await connection.order { $0.tlsVersion } == name)
        await connection.send(Self.hello)
        #expect(await heard.bytes(5) == Self.hello)
        await connection.finish()
        #expect(await heard.next() == .finished)
        #expect(await heard.next() == .closed(nil))
        #expect(await connection.order { $0.endedWithoutCloseNotify } == false)
        await peer
        server.close()
    }

    @Test func `a name is sent as SNI and an address isn't`() async throws {
        for (host, expected) in [("localhost", "localhost"), ("127.0.0.1", nil)] {
            let server = try PlainServer()
            async let name = server.serve { TLSPeer.accept($0)?.serverName }
            var (_, heard) = await WatchedTarget.dial(server.port, host: host, tls: try .test())
            #expect(await heard.next() == .connected)
            #expect(await name == .some(expected))
            server.close()
        }
    }

    @Test func `TLS below 1.2 is refused`() async throws {
        let server = try PlainServer()
        async let peer = server.serve { TLSPeer.accept($0, .init(version: TLS1_1_VERSION)) == nil }
        var (_, heard) = await WatchedTarget.dial(server.port, tls: try .test())
        guard case .closed(.notSecured(.failed)) = await heard.next() else {
            Issue.record("TLS 1.1 was taken")
            return
        }
        #expect(await peer == true)
        server.close()
    }

    @Test(arguments: versions)
    func `8 MiB pass in both directions while both sides read slowly`(version: Int32, name: String) async throws {
        let server = try PlainServer()
        let up = TCPConnectionTests.pattern(8 << 20)
        let down = [UInt8](up.reversed())
        async let arrived = server.serve { socket -> [UInt8]? in
            guard let peer = TLSPeer.accept(socket, .init(version: version)) else { return nil }
            var all: [UInt8] = []
            // It first only writes, then reads in small pieces.
            peer.write(down)
            while all.count < up.count, let bytes = peer.read(upTo: 4_099) { all += bytes }
            peer.sendCloseNotify()
            // A socket that is closed while close_notify waits in it sends RST instead of FIN.
            _ = peer.readAll()
            return all
        }
        var (connection, heard) = await WatchedTarget.dial(server.port, tls: try .test(), pausesAfterEach: true)
        #expect(await heard.next() == .connected)
        await connection.send(up)
        #expect(await connection.order { $0.queuedBytes } ?? 0 > 1 << 20)
        var all: [UInt8] = []
        while let event = await heard.next(), case .received(let bytes) = event {
            all += bytes
            #expect(bytes.count <= Reactor.readBufferBytes)
            // Nothing was received after the pause.
            #expect(await connection.receivedBytes == all.count)
            await connection.setReading(paused: false)
        }
        #expect(all == down)
        await connection.finish()
        #expect(await heard.next() == .closed(nil))
        #expect(await arrived == up)
        #expect(await connection.writes.last == 0)
        server.close()
    }

    @Test func `a target's end is reported after its last bytes`() async throws {
        let server = try PlainServer()
        let bytes = TCPConnectionTests.pattern(200_000)
        async let peer: Void? = server.serve { socket in
            guard let peer = TLSPeer.accept(socket) else { return }
            peer.write(bytes)
            peer.sendCloseNotify()
            _ = peer.readAll()
        }
        var (connection, heard) = await WatchedTarget.dial(server.port, tls: try .test(), pausesAfterEach: true)
        #expect(await heard.next() == .connected)
        await connection.finish()
        await peer
        var all: [UInt8] = []
        while let event = await heard.next(), case .received(let piece) = event {
            all += piece
            await connection.setReading(paused: false)
        }
        #expect(all == bytes)
        #expect(await heard.next() == .closed(nil))
        server.close()
    }

    /// With TLS 1.2 the target's Finished is the last message of the handshake, so its data can follow directly.
    @Test func `a paused connection reads nothing, not even bytes that came with the handshake`() async throws {
        let server = try PlainServer()
        async let written: Bool? = server.serve { socket in
            socket.hold(true)
            guard let peer = TLSPeer.accept(socket, .init(version: TLS1_2_VERSION)), peer.write(Self.hello) else {
                return false
            }
            socket.hold(false)
            return peer.read(upTo: 5) == Self.hello
        }
        var (connection, heard) = await WatchedTarget.open {
            let connection = TargetConnection.dial(
                host: "127.0.0.1", port: server.port, options: .patient, tls: try? .test(), on: TestReactor.shared,
                handler: $0)
            connection.setReading(paused: true)
            Self.hello.withUnsafeBytes(connection.send)
            return connection
        }
        #expect(await heard.next() == .connected)
        #expect(await written == true)
        await connection.turns()
        #expect(await connection.receivedBytes == 0)
        await connection.setReading(paused: false)
        #expect(await heard.next() == .received(Self.hello))
        server.close()
    }

    @Test func `an end that arrived with the last bytes is reported when reading resumes`() async throws {
        let server = try PlainServer()
        async let peer: Void? = server.serve { socket in
            guard let peer = TLSPeer.accept(socket) else { return }
            socket.hold(true)
            peer.write(Self.hello)
            peer.sendCloseNotify()
            socket.hold(false)
            _ = peer.readAll()
        }
        var (connection, heard) = await WatchedTarget.dial(server.port, tls: try .test(), pausesAfterEach: true)
        #expect(await heard.next() == .connected)
        #expect(await heard.next() == .received(Self.hello))
        await connection.turns()
        #expect(await !connection.hasHeardFinish)
        await connection.setReading(paused: false)
        #expect(await heard.next() == .finished)
        await connection.finish()
        #expect(await heard.next() == .closed(nil))
        await peer
        server.close()
    }

    @Test(arguments: versions)
    func `our close_notify follows every byte and leaves the target's direction open`(
        version: Int32, name: String
    ) async throws {
        let server = try PlainServer()
        let bytes = TCPConnectionTests.pattern(3 << 20)
        let gate = BlockingAnswer<Bool>()
        async let arrived = server.serve { socket -> [UInt8]? in
            guard let peer = TLSPeer.accept(socket, .init(version: version)) else { return nil }
            _ = gate.wait()
            let all = peer.readAll()
            #expect(socket.read(upTo: 1) == [], "FIN follows close_notify")
            peer.write(bytes)
            peer.sendCloseNotify()
            return all
        }
        var (connection, heard) = await WatchedTarget.dial(server.port, tls: try .test())
        #expect(await heard.next() == .connected)
        await connection.send(bytes)
        await connection.finish()
        await connection.send(Self.hello)
        gate.set(true)
        #expect(await heard.bytes() == bytes)
        #expect(await heard.next() == .finished)
        #expect(await heard.next() == .closed(nil))
        #expect(await arrived == bytes)
        server.close()
    }

    @Test func `the target's close_notify leaves our direction open, and bytes after it are ignored`()
        async throws
    {
        let server = try PlainServer()
        async let arrived = server.serve { socket -> [UInt8]? in
            guard let peer = TLSPeer.accept(socket) else { return nil }
            peer.write(Self.hello)
            peer.sendCloseNotify()
            socket.write(Self.hello)
            return peer.readAll()
        }
        var (connection, heard) = await WatchedTarget.dial(server.port, tls: try .test())
        #expect(await heard.next() == .connected)
        #expect(await heard.bytes() == Self.hello)
        #expect(await heard.next() == .finished)
        await connection.send(Self.hello)
        await connection.finish()
        #expect(await heard.next() == .closed(nil))
        #expect(await arrived == Self.hello)
        server.close()
    }

    @Test func `a FIN without close_notify is an end and is reported as such`() async throws {
        let server = try PlainServer()
        async let peer: Void? = server.serve { socket in
            TLSPeer.accept(socket)?.write(Self.hello)
            socket.finish()
            _ = socket.readAll()
        }
        var (connection, heard) = await WatchedTarget.dial(server.port, tls: try .test())
        #expect(await heard.next() == .connected)
        #expect(await heard.bytes() == Self.hello)
        #expect(await heard.next() == .finished)
        #expect(await connection.order { $0.endedWithoutCloseNotify } == true)
        await connection.finish()
        #expect(await heard.next() == .closed(nil))
        await peer
        server.close()
    }

    @Test func `a malformed record after the handshake breaks the connection after the valid ones`() async throws {
        let server = try PlainServer()
        async let failure = server.serve { socket -> String in
            guard let peer = TLSPeer.accept(socket) else { return "" }
            peer.write(Self.hello)
            socket.write(Array("GET / HTTP/1.1\r\n\r\n".utf8))
            return peer.readAll() == nil ? peer.failure : ""
        }
        var (_, heard) = await WatchedTarget.dial(server.port, tls: try .test())
        #expect(await heard.next() == .connected)
        #expect(await heard.bytes() == Self.hello)
        guard case .closed(.broken(let text)) = await heard.next() else {
            Issue.record("not broken")
            return
        }
        #expect(text.hasPrefix("TLS: error:"))
        #expect(await failure?.contains("alert") == true, "the target isn't told")
        server.close()
    }

    @Test func `key updates and session tickets are processed without an event`() async throws {
        let server = try PlainServer()
        async let peer: Bool? = server.serve { socket in
            guard let peer = TLSPeer.accept(socket, .init(version: TLS1_3_VERSION)) else { return false }
            for _ in 0..<3 {
                guard peer.updateKeys(), peer.write(Self.hello), peer.read(upTo: 100) == Self.hello else {
                    return false
                }
            }
            return true
        }
        var (connection, heard) = await WatchedTarget.dial(server.port, tls: try .test())
        #expect(await heard.next() == .connected)
        for _ in 0..<3 {
            #expect(await heard.bytes(5) == Self.hello)
            await connection.send(Self.hello)
        }
        #expect(await peer == true)
        server.close()
    }

    @Test func `renegotiation by the target is refused`() async throws {
        let server = try PlainServer()
        async let handshakes: [[UInt8]]? = server.serve { socket in
            guard let peer = TLSPeer.accept(socket, .init(version: TLS1_2_VERSION)) else { return [] }
            let first = peer.finished
            peer.askToRenegotiate()
            // OpenSSL as a server gives up after our warning alert.
            _ = peer.readAll()
            return [first, peer.finished]
        }
        var (connection, heard) = await WatchedTarget.dial(server.port, tls: try .test())
        #expect(await heard.next() == .connected)
        await connection.send(Self.hello)
        await connection.finish()
        let finished = await handshakes ?? []
        #expect(finished.count == 2 && finished.first == finished.last && finished.first?.isEmpty == false)
        await connection.drop()
        server.close()
    }

    @Test func `a prologue comes before TLS`() async throws {
        let server = try PlainServer()
        async let arrived = server.serve { socket -> [UInt8]? in
            guard socket.read(upTo: 5) == Self.hello else { return nil }
            return TLSPeer.accept(socket)?.readAll()
        }
        var options = DialOptions.patient
        options.prologue = { _, _ in Self.hello }
        var (connection, heard) = await WatchedTarget.dial(server.port, options: options, tls: try .test())
        #expect(await heard.next() == .connected)
        await connection.send([1, 2, 3])
        await connection.finish()
        #expect(await arrived == [1, 2, 3])
        server.close()
    }

    @Test(arguments: versions)
    func `records that arrive byte by byte are read`(version: Int32, name: String) async throws {
        let server = try PlainServer()
        let wire = try PlainServer()
        async let peer: Void? = server.serve { echo($0, .init(version: version)) }
        async let passed: Void? = wire.serve { near in
            guard let far = try? PlainSocket.connected(host: "127.0.0.1", port: server.port) else { return }
            setOption(near.descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
            startThread {
                while let byte = near.read(upTo: 1), !byte.isEmpty { far.write(byte) }
                far.finish()
            }
            while let byte = far.read(upTo: 1), !byte.isEmpty { near.write(byte) }
        }
        var (connection, heard) = await WatchedTarget.dial(wire.port, tls: try .test(.prefer))
        #expect(await heard.next() == .connected)
        #expect(await connection.order { $0.fallback } == .some(nil))
        let bytes = TCPConnectionTests.pattern(20_000)
        await connection.send(bytes)
        #expect(await heard.bytes(bytes.count) == bytes)
        await connection.finish()
        #expect(await heard.next() == .finished)
        #expect(await heard.next() == .closed(nil))
        await peer
        await passed
        server.close()
        wire.close()
    }

    @Test func `a drop during the handshake ends the connection`() async throws {
        let server = try PlainServer()
        let (hellos, sink) = AsyncStream.makeStream(of: Void.self)
        async let peer = server.serve { socket -> [UInt8]? in
            _ = socket.read(upTo: 1)
            sink.finish()
            return socket.readAll()
        }
        var (connection, heard) = await WatchedTarget.dial(server.port, tls: try .test(.prefer))
        await connection.send(Self.hello)
        for await _ in hellos {}
        await connection.drop()
        await connection.drop()
        #expect(await heard.next() == .closed(nil))
        #expect(await connection.order { $0.queuedBytes } == 0)
        #expect(await peer != nil)
        server.close()
    }

    @Test func `without TLS the connection is plain TCP`() async throws {
        for tls in [nil, try TargetTLS.test(.plain)] {
            let server = try PlainServer()
            async let arrived = server.serve { socket -> [UInt8]? in
                socket.write(Self.hello)
                return socket.readAll()
            }
            var (connection, heard) = await WatchedTarget.dial(server.port, tls: tls)
            #expect(await heard.next() == .connected)
            #expect(await heard.bytes(5) == Self.hello)
            #expect(await connection.order { $0.tlsVersion } == .some(nil))
            await connection.send(Self.hello)
            await connection.finish()
            #expect(await heard.next() == .finished)
            #expect(await heard.next() == .closed(nil))
            #expect(await arrived == Self.hello)
            server.close()
        }
    }
}
