import Glibc
import Testing

@testable import Reactors

/// A TCP connection against a peer that uses plain sockets.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct TCPConnectionTests {
    private static let hello = Array("hello".utf8)
    /// IPPROTO_TCP and TCP_KEEPIDLE, which Glibc's module doesn't have.
    private static let levelTCP: Int32 = 6
    private static let keepIdle: Int32 = 4

    @Test func `sent bytes arrive, and the reply is read`() async throws {
        let server = try PlainServer()
        async let peer = server.serve { socket in
            while let bytes = socket.read(upTo: 100), !bytes.isEmpty { socket.write(bytes) }
        }
        var (connection, heard) = await WatchedConnection.dial(server.port)
        #expect(await heard.next() == .connected)
        await connection.send(Self.hello)
        #expect(await heard.bytes(5) == Self.hello)
        await connection.finish()
        #expect(await heard.next() == .finished)
        #expect(await heard.next() == .closed(nil))
        await peer
        server.close()
    }

    /// For devices on the way that forget idle connections, whatever the target speaks.
    @Test func `a connection has TCP keep-alive, which begins after a minute`() async throws {
        let server = try PlainServer()
        async let peer = server.serve { _ = $0.readAll() }
        var (connection, heard) = await WatchedConnection.dial(server.port)
        #expect(await heard.next() == .connected)
        let options = await connection.order { connection in
            [(SOL_SOCKET, SO_KEEPALIVE), (Self.levelTCP, Self.keepIdle)].map { level, name in
                var (value, length) = (Int32(-1), socklen_t(MemoryLayout<Int32>.size))
                getsockopt(connection.descriptor, level, name, &value, &length)
                return value
            }
        }
        #expect(options == [1, 60])
        await connection.finish()
        #expect(await heard.next() == .finished)
        await peer
        server.close()
    }

    @Test func `the peer's FIN leaves our direction open`() async throws {
        let server = try PlainServer()
        async let sent = server.serve { socket in
            socket.write(Self.hello)
            socket.finish()
            return socket.readAll()
        }
        var (connection, heard) = await WatchedConnection.dial(server.port)
        #expect(await heard.next() == .connected)
        #expect(await heard.bytes() == Self.hello)
        #expect(await heard.next() == .finished)
        await connection.send(Array("still ".utf8))
        await connection.send(Array("here".utf8))
        await connection.finish()
        #expect(await heard.next() == .closed(nil))
        #expect(await sent == Array("still here".utf8))
        server.close()
    }

    @Test func `a reset after the last bytes is reported as a reset`() async throws {
        let server = try PlainServer()
        async let peer = server.serve { socket in
            let isReady = socket.read(upTo: 5) == Self.hello
            socket.write(Self.hello)
            socket.resetAtClose()
            return isReady
        }
        var (connection, heard) = await WatchedConnection.dial(server.port)
        #expect(await heard.next() == .connected)
        // Both are available when the socket is read again.
        await connection.order { $0.setReading(paused: true) }
        await connection.send(Self.hello)
        #expect(await peer == true)
        await connection.order { $0.setReading(paused: false) }
        #expect(await heard.bytes() == Self.hello)
        guard case .closed(.broken) = await heard.next() else {
            Issue.record("the reset is told as an orderly end")
            return server.close()
        }
        server.close()
    }

    @Test func `our FIN leaves the peer's direction open`() async throws {
        let server = try PlainServer()
        let answer = [UInt8](repeating: 7, count: 300_000)
        async let sent = server.serve { socket in
            let all = socket.readAll()
            socket.write(answer)
            return all
        }
        var (connection, heard) = await WatchedConnection.dial(server.port)
        #expect(await heard.next() == .connected)
        await connection.send(Self.hello)
        await connection.finish()
        #expect(await heard.bytes() == answer)
        #expect(await heard.next() == .finished)
        #expect(await heard.next() == .closed(nil))
        #expect(await sent == Self.hello)
        server.close()
    }

    @Test func `a slow reader gets every byte, in order, before our FIN`() async throws {
        let server = try PlainServer()
        let gate = BlockingAnswer<Bool>()
        let bytes = Self.pattern(8 << 20)
        async let arrived = server.serve { socket in
            _ = gate.wait()  // Until then only the kernel's buffers take bytes.
            return socket.readAll(piece: 4_099)
        }
        var (connection, heard) = await WatchedConnection.dial(server.port)
        #expect(await heard.next() == .connected)
        for start in stride(from: 0, to: bytes.count, by: 100_000) {
            await connection.send(Array(bytes[start..<min(start + 100_000, bytes.count)]))
        }
        await connection.finish()
        #expect(await connection.order { $0.queuedBytes } ?? 0 > 0, "the kernel took everything: the test is too small")
        gate.set(true)
        #expect(await heard.next() == .finished)
        #expect(await heard.next() == .closed(nil))
        #expect(await arrived == bytes)
        let writes = await connection.writes
        #expect(writes.last == 0)
        server.close()
    }

    @Test func `a paused connection reads nothing, and every byte after it resumes`() async throws {
        let server = try PlainServer()
        let (fills, full) = AsyncStream.makeStream(of: Int.self)
        let bytes = Self.pattern(1 << 20)
        async let served: Void? = server.serve { socket in
            full.yield(socket.fill(with: bytes))
            full.finish()
        }
        var (connection, heard) = await WatchedConnection.open {
            let connection = TCPConnection.dial(
                host: "127.0.0.1", port: server.port, options: .patient, on: TestReactor.shared, handler: $0)
            connection.setReading(paused: true)
            return connection
        }
        var written = 0
        for await count in fills { written += count }
        #expect(written > 0)
        #expect(await connection.receivedBytes == 0)
        _ = await connection.order { $0.setReading(paused: false) }
        #expect(await heard.next() == .connected)
        let all = await heard.bytes()
        #expect(all.count == written)
        #expect(all == Array((0...written / bytes.count).flatMap { _ in bytes }.prefix(written)))
        #expect(await heard.next() == .finished)
        await connection.finish()
        #expect(await heard.next() == .closed(nil))
        await served
        server.close()
    }

    @Test func `data and FIN sent while dialling are written after the connect`() async throws {
        let server = try PlainServer()
        async let arrived = server.serve { $0.readAll() }
        var (_, heard) = await WatchedConnection.open {
            let connection = TCPConnection.dial(
                host: "127.0.0.1", port: server.port, options: .patient, on: TestReactor.shared, handler: $0)
            Self.hello.withUnsafeBytes { connection.send($0) }
            connection.finish()
            return connection
        }
        #expect(await heard.next() == .connected)
        #expect(await heard.next() == .finished)
        #expect(await heard.next() == .closed(nil))
        #expect(await arrived == Self.hello)
        server.close()
    }

    @Test func `nothing is sent after finish`() async throws {
        let server = try PlainServer()
        async let arrived = server.serve { $0.readAll() }
        var (connection, heard) = await WatchedConnection.dial(server.port)
        #expect(await heard.next() == .connected)
        _ = await connection.order { connection in
            Self.hello.withUnsafeBytes(connection.send)
            connection.finish()
            connection.finish()
            Self.hello.withUnsafeBytes(connection.send)
        }
        #expect(await arrived == Self.hello)
        #expect(await heard.next() == .finished)
        #expect(await heard.next() == .closed(nil))
        server.close()
    }

    @Test func `a drop closes at once and is reported once`() async throws {
        let server = try PlainServer()
        async let arrived = server.serve { $0.readAll() }
        var (connection, heard) = await WatchedConnection.dial(server.port)
        #expect(await heard.next() == .connected)
        _ = await connection.order {
            $0.drop()
            $0.drop()
            $0.finish()
            $0.setReading(paused: true)
            Self.hello.withUnsafeBytes($0.send)
        }
        #expect(await heard.next() == .closed(nil))
        #expect(await arrived == [])
        #expect(await connection.order { $0.queuedBytes } == 0)
        server.close()
    }

    @Test func `a drop during a write frees its memory`() async throws {
        let server = try PlainServer()
        let gate = BlockingAnswer<Bool>()
        async let served: Void? = server.serve { _ in _ = gate.wait() }
        var (connection, heard) = await WatchedConnection.dial(server.port)
        #expect(await heard.next() == .connected)
        await connection.send(Self.pattern(32 << 20))
        #expect(await connection.order { $0.queuedBytes } ?? 0 > 0)
        _ = await connection.order { $0.drop() }
        #expect(await heard.next() == .closed(nil))
        gate.set(true)
        await served
        server.close()
    }

    @Test func `a peer that resets breaks the connection`() async throws {
        let server = try PlainServer()
        async let served: Void? = server.serve { socket in
            _ = socket.read(upTo: 5)  // An earlier reset would count as a failed dial.
            socket.resetAtClose()
        }
        var (connection, heard) = await WatchedConnection.dial(server.port)
        #expect(await heard.next() == .connected)
        await connection.send(Self.hello)
        guard case .closed(.broken(let text)) = await heard.next() else {
            Issue.record("not broken")
            return
        }
        #expect(text == "connection reset by peer")
        await served
        server.close()
    }

    @Test func `an accepted socket is adopted`() async throws {
        let server = try PlainServer()
        let (sockets, accepted) = AsyncStream.makeStream(of: Int32.self)
        async let served: Void? = server.serve { socket in
            accepted.yield(dup(socket.descriptor))
            accepted.finish()
        }
        let client = try PlainSocket.connected(host: "127.0.0.1", port: server.port)
        var iterator = sockets.makeAsyncIterator()
        let descriptor = try #require(await iterator.next())
        var (connection, heard) = await WatchedConnection.open {
            .adopt(descriptor, on: TestReactor.shared, handler: $0)
        }
        await served
        client.write(Self.hello)
        #expect(await heard.next() == .received(Self.hello))
        await connection.send(Self.hello)
        await connection.finish()
        #expect(client.readAll() == Self.hello)
        client.close()
        #expect(await heard.next() == .finished)
        #expect(await heard.next() == .closed(nil))
        server.close()
    }

    @Test func `a descriptor that can't be adopted is reported to the handler later`() async throws {
        var (_, heard) = await WatchedConnection.open { .adopt(-1, on: TestReactor.shared, handler: $0) }
        #expect(await heard.next() == .closed(.broken("uv_tcp_open")))
    }

    static func pattern(_ count: Int) -> [UInt8] {
        var generator = SeededGenerator(seed: UInt64(count))
        return (0..<count / 8).flatMap { _ in withUnsafeBytes(of: generator.next()) { Array($0) } }
    }
}
