import Testing

@testable import Reactors

/// What a client sends in many TLS records, and who has to wait for it.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct ReadAheadTests {
    /// Of short records one read of the socket brings hundreds. Of the others it brings few, and of the next one not even the whole head:
    /// to serve that one is to read the socket again, and so on for as long as the socket has something.
    @Test(arguments: [false, true])
    func `a client that floods leaves its neighbours their turns`(endsInHeads: Bool) async throws {
        let bench = EdgeBench()
        let port = try await bench.serve(.secured)
        let readBytes = try await Self.bytesOfOneRead()
        let size = endsInHeads ? Self.sizeThatEndsInHeads(readBytes: readBytes) : 40
        // Between two of a neighbour's turns lie the end of one turn of the loop and the beginning of the next.
        let bound = 2 * (1 + min(ReadAhead.recordsPerTurn, readBytes / size))
        let client = try await Self.open(port)
        let count = 520
        let records = client.sealed([[UInt8]](repeating: Self.frame(inRecordOf: size), count: count))
        #expect(records.count == count * size)

        let neighbour = Neighbour(of: bench, until: count)
        let taken = Self.flood(client.socket, records, of: bench.reactor) { neighbour.takeTurn() }
        let steps = await neighbour.finished()
        // Else it was no flood: more has to be there at once than the bound.
        #expect(taken / size > 2 * bound)
        #expect(steps.max() ?? 0 <= bound, "\(steps)")
        #expect(steps.reduce(0, +) == count)
        client.socket.close()
        await bench.stop()
    }

    /// libwebsockets' own time-out is far behind every deadline of ours, but a session may last longer. That the time passes is what this
    /// is about.
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

    /// Writes all of `records`: what the kernel takes while the reactor stands still, then the rest.
    ///
    /// - Parameter first: what the reactor does before it looks at any socket.
    /// - Returns: how many bytes were there when it began to.
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

    /// What OpenSSL takes from the socket in one call, in its own words: as much as its buffer holds.
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

    /// Of a record, so that a read which begins with one ends one to four bytes behind another: within the next one's head of five.
    private static func sizeThatEndsInHeads(readBytes: Int) -> Int {
        let fitting = (262...readBytes / 2).first { (1...4).contains(readBytes % $0) }
        return fitting ?? readBytes
    }

    /// A frame that fills a record: head, content type and tag take 22 bytes (RFC 8446 §5.2).
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

/// Who has something to do on the reactor again and again: a job in each turn, which counts what the flood's client was served between.
///
/// - Note: `@unchecked Sendable` because what is mutable here is touched on the reactor's thread alone.
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

    /// - Returns: how many messages the client was served between two turns, where it was any.
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
