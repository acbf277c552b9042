import Testing

@testable import Reactors

/// A client that sends many TLS records, and the effect on other connections.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct ReadAheadTests {
    /// With short records, one read of the socket returns hundreds. With the other size it returns only a few, and part
    /// of the next record's header: serving that record means reading the socket again, and so on while the socket has
    /// data.
    @Test(arguments: [false, true])
    func `a flooding client doesn't starve its neighbours`(endsInHeads: Bool) async throws {
        let bench = EdgeBench()
        let port = try await bench.serve(.secured)
        let readBytes = try await Self.bytesOfOneRead()
        let size = endsInHeads ? Self.sizeThatEndsInHeads(readBytes: readBytes) : 40
        // Between two turns of the neighbour are the end of one turn of the loop and the beginning of the next.
        let bound = 2 * (1 + min(ReadAhead.recordsPerTurn, readBytes / size))
        let client = try await Self.open(port)
        let count = 520
        let records = client.sealed([[UInt8]](repeating: Self.frame(inRecordOf: size), count: count))
        #expect(records.count == count * size)

        let neighbour = Neighbour(of: bench, until: count)
        let taken = Self.flood(client.socket, records, of: bench.reactor) { neighbour.takeTurn() }
        let steps = await neighbour.finished()
        // Otherwise it was no flood: more than the bound must be available at once.
        #expect(taken / size > 2 * bound)
        #expect(steps.max() ?? 0 <= bound, "\(steps)")
        #expect(steps.reduce(0, +) == count)
        client.socket.close()
        await bench.stop()
    }

    /// libwebsockets' own timeout is much longer than all of ours, but a session may last longer still. The sleep is
    /// the point of this test.
    @Test func `a session outlives libwebsockets' own time-out`() async throws {
        let bench = EdgeBench(on: TestReactor.started(backstopSeconds: 1))
        var settings = EdgeSettings.plain
        settings.tls = .test
        let client = try await Self.open(bench.serve(settings))
        try await Task.sleep(for: .seconds(4))
        client.write(clientFrame(1, [65]))
        var events = bench.events.filter { if case .message = $0 { true } else { $0 == .closed } }.makeAsyncIterator()
        #expect(await events.next() == .message(ReceivedMessage(isText: true, payload: [65])))
        client.socket.close()
        await bench.stop()
    }

    private static func open(_ port: UInt16) async throws -> TLSPeer {
        let client = try #require(TLSPeer.connect(try PlainSocket.connected(host: "127.0.0.1", port: port)))
        client.write(upgradeRequest())
        let answer = try #require(client.read(upTo: 4_096))
        #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 101"))
        return client
    }

    /// Writes all of `records`: as much as the kernel takes while the reactor is blocked, then the rest.
    ///
    /// - Parameter first: runs on the reactor before it polls any socket.
    /// - Returns: the number of bytes available when the reactor continued.
    private static func flood(
        _ socket: PlainSocket, _ records: [UInt8], of reactor: Reactor, first: @escaping @Sendable () -> Void
    ) -> Int {
        let (begun, mayGoOn) = (Semaphore(), Semaphore())
        reactor.submit {
            begun.post()
            mayGoOn.wait()
            first()
        }
        begun.wait()
        let taken = socket.offer(records)
        mayGoOn.post()
        #expect(socket.write(Array(records[taken...])))
        return taken
    }

    /// The number of bytes that OpenSSL reads from the socket in one call, measured: the size of its buffer.
    private static func bytesOfOneRead() async throws -> Int {
        let server = try PlainServer()
        async let read = server.serve { socket -> Int? in
            guard let peer = TLSPeer.accept(socket) else { return nil }
            return peer.bytesOfOneRead()
        }
        let client = try #require(TLSPeer.connect(try PlainSocket.connected(host: "127.0.0.1", port: server.port)))
        client.write([UInt8](repeating: 0, count: 8))
        for _ in 0..<64 { client.write([UInt8](repeating: 0, count: 1_000)) }
        let count = try #require(await read ?? nil)
        client.socket.close()
        server.close()
        return count
    }

    /// A record size for which a read that begins with a record ends one to four bytes into the next record's five-byte
    /// header.
    private static func sizeThatEndsInHeads(readBytes: Int) -> Int {
        let fitting = (262...readBytes / 2).first { (1...4).contains(readBytes % $0) }
        return fitting ?? readBytes
    }

    /// A frame that fills a record: header, content type and tag take 22 bytes (RFC 8446 §5.2).
    private static func frame(inRecordOf size: Int) -> [UInt8] {
        let room = size - 22
        return clientFrame(2, [UInt8](repeating: 0x61, count: room - (room < 132 ? 6 : 8)))
    }
}

extension EdgeSettings {
    fileprivate static var secured: EdgeSettings {
        let files = TestCertificates.serverFiles
        let tls = TLSSettings(certificatePath: files.certificate.path, privateKeyPath: files.key.path)
        return EdgeSettings(tls: tls, subprotocols: [], limits: EdgeLimits())
    }
}

/// Another user of the reactor: it runs a job in each turn and counts the messages served to the flooding client in
/// between.
///
/// - Note: `@unchecked Sendable` because its mutable state is used only on the reactor's thread.
private final class Neighbour: @unchecked Sendable {
    private let bench: EdgeBench
    private let total: Int
    private var seen = 0
    private var steps: [Int] = []
    private let end: AsyncStream<[Int]>
    private let sink: AsyncStream<[Int]>.Continuation

    init(of bench: EdgeBench, until total: Int) {
        self.bench = bench
        self.total = total
        (end, sink) = AsyncStream.makeStream(of: [Int].self)
    }

    func takeTurn() {
        let count = bench.messageCount
        if count > seen { steps.append(count - seen) }
        seen = count
        guard count < total, bench.webSocket != nil else { return sink.finish(with: steps) }
        bench.reactor.submit { self.takeTurn() }
    }

    /// - Returns: the numbers of messages served between two turns, without zeros.
    func finished() async -> [Int] {
        await end.first { _ in true } ?? []
    }
}

extension AsyncStream<[Int]>.Continuation {
    fileprivate func finish(with value: [Int]) {
        yield(value)
        finish()
    }
}
