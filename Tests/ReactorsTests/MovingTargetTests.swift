import COpenSSL
import Glibc
import Testing

@testable import Reactors

/// Target connections that move between reactors, against OpenSSL as a server on blocking sockets.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct MovingTargetTests {
    private static let hello = Array("hello".utf8)

    private static func echo(_ socket: PlainSocket, tls: Bool) {
        if tls {
            guard let peer = TLSPeer.accept(socket) else { return }
            while let bytes = peer.read(upTo: 65_536), !bytes.isEmpty { peer.write(bytes) }
            peer.sendCloseNotify()
        } else {
            while let bytes = socket.read(upTo: 65_536), !bytes.isEmpty { socket.write(bytes) }
            socket.finish()
        }
    }

    private static func adopt(_ moving: MovingTarget?, on reactor: Reactor) async throws -> (WatchedTarget, Heard) {
        let moving = try #require(moving)
        return await WatchedTarget.open(on: reactor) { .adopt(moving, on: reactor, handler: $0) }
    }

    @Test(arguments: [false, true]) func `a connection continues on another reactor`(tls: Bool) async throws {
        let server = try PlainServer()
        let second = TestReactor.second
        async let peer: Void? = server.serve { Self.echo($0, tls: tls) }
        var (first, heard) = await WatchedTarget.dial(server.port, tls: tls ? try .test() : nil)
        #expect(await heard.next() == .connected)
        await first.send(Self.hello)
        #expect(await heard.bytes(5) == Self.hello)
        let version = await first.order { $0.tlsVersion }
        var (moved, heardThere) = try await Self.adopt(await first.order { $0.leave() } ?? nil, on: second)
        #expect(await moved.order { $0.tlsVersion } == version)
        await moved.send(Self.hello)
        #expect(await heardThere.bytes(5) == Self.hello)
        await first.send([0])
        await first.drop()
        await moved.finish()
        #expect(await heardThere.next() == .finished)
        #expect(await heardThere.next() == .closed(nil))
        await peer
        server.close()
    }

    /// The connection moves back and forth while both directions are full. Each side receives one complete stream.
    @Test(arguments: [false, true]) func `a move neither loses nor duplicates a byte`(tls: Bool) async throws {
        let server = try PlainServer()
        let reactors = [TestReactor.shared, TestReactor.second]
        async let peer: Void? = server.serve { Self.echo($0, tls: tls) }
        var (connection, heard) = await WatchedTarget.dial(server.port, tls: tls ? try .test() : nil)
        #expect(await heard.next() == .connected)
        let bytes = TCPConnectionTests.pattern(8 << 20)
        var arrived: [UInt8] = []
        for round in 0..<16 {
            let part = Array(bytes[round * (bytes.count / 16)..<(round + 1) * (bytes.count / 16)])
            await connection.send(part)
            if round % 3 == 0 { arrived += await heard.bytes(1) }
            let moving = await connection.order { $0.leave() } ?? nil
            arrived += await heard.bytes(await connection.receivedBytes - heard.taken)
            (connection, heard) = try await Self.adopt(moving, on: reactors[(round + 1) % 2])
        }
        await connection.finish()
        arrived += await heard.bytes()
        #expect(arrived == bytes)
        #expect(await heard.next() == .finished)
        #expect(await heard.next() == .closed(nil))
        await peer
        server.close()
    }

    @Test(arguments: [false, true]) func `input that arrived during a pause is read on the new reactor`(
        tls: Bool
    ) async throws {
        let server = try PlainServer()
        let second = TestReactor.second
        async let peer: Void? = server.serve { socket in
            let peer = tls ? TLSPeer.accept(socket) : nil
            if let peer { peer.write(Self.hello + Self.hello) } else { socket.write(Self.hello + Self.hello) }
            peer?.sendCloseNotify()
            socket.finish()
            _ = socket.readAll()
        }
        var (first, heard) = await WatchedTarget.open {
            let connection = TargetConnection.dial(
                host: "127.0.0.1", port: server.port, options: .patient, tls: tls ? try? .test() : nil,
                on: TestReactor.shared, handler: $0)
            connection.setReading(paused: true)
            return connection
        }
        #expect(await heard.next() == .connected)
        await first.turns()
        var (moved, heardThere) = try await Self.adopt(await first.order { $0.leave() } ?? nil, on: second)
        #expect(await heardThere.bytes() == Self.hello + Self.hello)
        #expect(await heardThere.next() == .finished)
        await moved.finish()
        #expect(await heardThere.next() == .closed(nil))
        await peer
        server.close()
    }

    @Test func `a connection that can't be moved stays on its reactor`() async throws {
        let server = try PlainServer()
        async let peer: Void? = server.serve { Self.echo($0, tls: false) }
        var (connection, heard) = await WatchedTarget.open {
            let connection = TargetConnection.dial(
                host: "127.0.0.1", port: server.port, options: .patient, tls: nil, on: TestReactor.shared, handler: $0)
            #expect(connection.leave() == nil, "it isn't connected yet")
            return connection
        }
        #expect(await heard.next() == .connected)
        await connection.send(Self.hello)
        await connection.finish()
        #expect(await connection.order { $0.leave() == nil } == true, "it has been told to finish")
        #expect(await heard.bytes(5) == Self.hello)
        #expect(await heard.next() == .finished)
        #expect(await heard.next() == .closed(nil))
        await peer
        server.close()
    }

    @Test func `a connection that never arrives is closed`() async throws {
        let server = try PlainServer()
        async let rest = server.serve { $0.readAll() }
        var (connection, heard) = await WatchedTarget.dial(server.port, tls: nil)
        #expect(await heard.next() == .connected)
        _ = await connection.order { $0.leave() != nil }
        #expect(await rest == .some([]))
        server.close()
    }
}
