import Testing
import WebSocketWire

@testable import Reactors

/// A client that sends more frames than are processed at once.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct InputTurnTests {
    /// Each piece takes a WebSocket's whole share of a turn's time, so the numbers don't depend on the machine.
    @Test func `frames beyond a share get a turn's time, and wait for the next turn when it is over`() async throws {
        let bench = EdgeBench(on: TestReactor.started())
        bench.onPiece = { _ in Self.spend(InputQueue.shareNanoseconds, on: bench.reactor) }
        let client = try await Self.open(bench)
        let count = InputShare.unitsPerTurn + 12
        let turns = Turns(of: bench, until: count)
        turns.begin()
        client.write(Self.fragments([UInt8](repeating: 0x61, count: count)))
        let steps = await turns.finished()
        #expect(steps.reduce(0, +) == count)
        // Between two jobs are the end of one turn and the beginning of the next.
        #expect(steps.first ?? 0 <= InputShare.unitsPerTurn + 1)
        #expect(steps.dropFirst().allSatisfy { $0 <= 2 }, "\(steps)")
        client.close()
        await bench.stop()
    }

    @Test func `all clients together get one turn's time`() async throws {
        let reactor = TestReactor.started()
        let benches = (0..<8).map { _ in EdgeBench(on: reactor) }
        var clients: [PlainSocket] = []
        let count = InputShare.unitsPerTurn + 6
        for bench in benches {
            bench.onPiece = { _ in
                if bench.pieces.count > InputShare.unitsPerTurn { Self.spend(InputQueue.shareNanoseconds, on: reactor) }
            }
            clients.append(try await Self.open(bench))
        }
        let turns = Turns(of: benches, until: count)
        turns.begin()
        for client in clients { client.write(Self.fragments([UInt8](repeating: 0x61, count: count))) }
        let late = await turns.finished()
        #expect(benches.allSatisfy { $0.pieces.count == count })
        let perTurn = InputQueue.turnNanoseconds / InputQueue.shareNanoseconds
        #expect(late.allSatisfy { $0 <= 2 * perTurn }, "\(late)")
        for client in clients { client.close() }
        for bench in benches { await bench.stop() }
    }

    /// Over TLS the second part is a record of its own, which is read when nothing is held any more.
    @Test(arguments: [false, true])
    func `held input arrives in order, split at every byte`(isSecured: Bool) async throws {
        let bench = EdgeBench(on: TestReactor.started())
        let payload = (0..<InputShare.unitsPerTurn + 9).map { UInt8($0 & 0x7F) }
        let message = Self.fragments(payload) + clientFrame(9, [1, 2]) + clientFrame(1, [0x62])
        let plain = isSecured ? nil : try await Self.open(bench)
        let secured = isSecured ? try await Self.openSecured(bench) : nil
        var events = bench.events.makeAsyncIterator()
        for split in 0...message.count {
            let (front, back) = (Array(message[..<split]), Array(message[split...]))
            if let plain {
                plain.write(front)
                plain.write(back)
            }
            if let secured {
                #expect(secured.socket.write(secured.sealed([front, back].filter { !$0.isEmpty })))
            }
            #expect(await Self.nextMessage(&events) == ReceivedMessage(isText: false, payload: payload))
            #expect(await Self.nextMessage(&events) == ReceivedMessage(isText: true, payload: [0x62]))
        }
        #expect(await bench.reactor.run { bench.controlFrames.count } == message.count + 1)
        plain?.close()
        secured?.socket.close()
        await bench.stop()
    }

    @Test func `a Close frame behind held input ends the connection after it`() async throws {
        let bench = EdgeBench(on: TestReactor.started())
        let client = try await Self.open(bench)
        let payload = [UInt8](repeating: 0x63, count: 1_000)
        client.write(Self.fragments(payload) + clientFrame(8, [0x03, 0xE8]))
        var events = bench.events.makeAsyncIterator()
        #expect(await Self.nextMessage(&events) == ReceivedMessage(isText: false, payload: payload))
        #expect(await events.next() == .peerClosed(1000))
        let frames = client.readFrames { !$0.isEmpty }
        #expect(frames?.last?.opcode == 8)
        #expect(await events.next() == .closed)
        client.close()
        await bench.stop()
    }

    /// What is held isn't delivered any more; the client's Close frame is found behind it.
    @Test func `closing discards held input and finds the client's answer`() async throws {
        let bench = EdgeBench(on: TestReactor.started())
        bench.onPiece = { $0?.close(code: 1001, reason: "") }
        let client = try await Self.open(bench)
        client.write(Self.fragments([UInt8](repeating: 0x64, count: 2_000)) + clientFrame(8, [0x03, 0xE9]))
        var events = bench.events.makeAsyncIterator()
        while let event = await events.next(), event != .closed {}
        #expect(await bench.reactor.run { bench.pieces } == [1])
        client.close()
        await bench.stop()
    }

    @Test func `what is held when the input is to be heard to its end is delivered before the end`() async throws {
        let bench = EdgeBench(on: TestReactor.started())
        bench.onPiece = { $0?.closeAfterInput(code: 1012, reason: "", within: 0) }
        let client = try await Self.open(bench)
        let payload = [UInt8](repeating: 0x65, count: 500)
        client.write(Self.fragments(payload) + clientFrame(8, [0x03, 0xF4]))
        var events = bench.events.makeAsyncIterator()
        #expect(await Self.nextMessage(&events) == ReceivedMessage(isText: false, payload: payload))
        #expect(await events.next() == .peerClosed(1012))
        client.close()
        await bench.stop()
    }

    /// Nothing but a Close frame would be waited for any longer.
    @Test(.timeLimit(.minutes(5)))
    func `a client that answers our Close late is heard to its end where it has the time`() async throws {
        let bench = EdgeBench(on: TestReactor.started()) {
            $0.closeAfterInput(code: 1012, reason: "", within: 600_000_000_000)
        }
        let client = try await Self.open(bench)
        #expect(client.readFrames { !$0.isEmpty }?.last?.opcode == 8)
        await Passed.limit(ClosingHandshake.Limits().answerNanoseconds, on: bench.reactor)
        client.write(Self.fragments([0x66]) + clientFrame(8, [0x03, 0xF4]))
        var events = bench.events.makeAsyncIterator()
        #expect(await Self.nextMessage(&events)?.payload == [0x66])
        #expect(await events.next() == .peerClosed(1012))
        client.close()
        await bench.stop()
    }

    @Test func `a connection that is dropped while input is held ends at once`() async throws {
        let bench = EdgeBench(on: TestReactor.started())
        let last = InputShare.unitsPerTurn + 3
        bench.onPiece = { if bench.pieces.count == last { $0?.drop() } }
        let client = try await Self.open(bench)
        client.write(Self.fragments([UInt8](repeating: 0x66, count: 1_000)))
        var events = bench.events.makeAsyncIterator()
        while let event = await events.next(), event != .closed {}
        #expect(await bench.reactor.run { bench.pieces.count } == last)
        client.close()
        await bench.stop()
    }

    @Test func `a paused WebSocket still delivers what was read, and reads no more`() async throws {
        let bench = EdgeBench(on: TestReactor.started())
        bench.onPiece = { $0?.setReading(paused: true) }
        let client = try await Self.open(bench)
        client.write(Self.fragments([UInt8](repeating: 0x67, count: 300)))
        var events = bench.events.makeAsyncIterator()
        #expect(await Self.nextMessage(&events)?.payload.count == 300)
        client.write(clientFrame(1, [0x68]))
        for _ in 0..<20 { await bench.reactor.run {} }
        #expect(await bench.reactor.run { bench.messageCount } == 1)
        await bench.order { $0.setReading(paused: false) }
        #expect(await Self.nextMessage(&events)?.payload == [0x68])
        client.close()
        await bench.stop()
    }

    /// Empty fragments make no event, and still count.
    @Test func `every frame and every read is reported, with its octets`() async throws {
        let bench = EdgeBench(on: TestReactor.started())
        let client = try await Self.open(bench)
        let frames = Self.fragments([1, 2, 3]).dropLast(7) + clientFrame(0, [], isFinal: false) + clientFrame(0, [4])
        client.write(Array(frames) + clientFrame(9, []) + clientFrame(10, [5]))
        var events = bench.events.makeAsyncIterator()
        #expect(await Self.nextMessage(&events)?.payload == [1, 2, 4])
        _ = client.readFrames { !$0.isEmpty }
        #expect(await bench.reactor.run { bench.octetsRead } == frames.count + 13)
        // Six frames in one or more reads.
        #expect(await bench.reactor.run { bench.stepsRead } >= 7)
        client.close()
        await bench.stop()
    }

    @Test func `over TLS each record counts, and the octets around its content`() async throws {
        let bench = EdgeBench(on: TestReactor.started())
        let client = try await Self.openSecured(bench)
        let before = await bench.reactor.run { (bench.octetsRead, bench.stepsRead) }
        let frame = clientFrame(2, [1, 2, 3, 4])
        let records = client.sealed(frame.map { [$0] })
        #expect(client.socket.write(records))
        var events = bench.events.makeAsyncIterator()
        #expect(await Self.nextMessage(&events)?.payload == [1, 2, 3, 4])
        let after = await bench.reactor.run { (bench.octetsRead, bench.stepsRead) }
        #expect(after.0 - before.0 == records.count)
        #expect(after.1 - before.1 >= frame.count + 2)
        client.socket.close()
        await bench.stop()
    }

    // MARK: Tools

    private static func open(_ bench: EdgeBench) async throws -> PlainSocket {
        let client = try PlainSocket.connected(host: "127.0.0.1", port: await bench.serve())
        client.write(upgradeRequest())
        #expect(client.readHead()?.hasPrefix("HTTP/1.1 101") == true)
        return client
    }

    private static func openSecured(_ bench: EdgeBench) async throws -> TLSPeer {
        var settings = EdgeSettings.plain
        settings.tls = .test
        let port = try await bench.serve(settings)
        let client = try #require(TLSPeer.connect(try PlainSocket.connected(host: "127.0.0.1", port: port)))
        client.write(upgradeRequest())
        let answer = try #require(client.read(upTo: 4_096))
        #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 101"))
        return client
    }

    /// A message of which each fragment has one octet.
    private static func fragments(_ payload: [UInt8]) -> [UInt8] {
        payload.indices.flatMap { index in
            clientFrame(index == 0 ? 2 : 0, [payload[index]], isFinal: index == payload.count - 1)
        }
    }

    private static func nextMessage(
        _ events: inout AsyncStream<EdgeBench.Event>.AsyncIterator
    ) async -> ReceivedMessage? {
        while let event = await events.next() {
            if case .message(let message) = event { return message }
            guard case .upgrade = event else {
                if event == .opened { continue }
                return nil
            }
        }
        return nil
    }

    /// On the reactor's thread, as an expensive message would.
    private static func spend(_ nanoseconds: Int, on reactor: Reactor) {
        let end = reactor.now + UInt64(nanoseconds)
        while reactor.now < end {}
    }
}

/// A deadline on the reactor, behind those that were set before it with the same limit.
private final class Passed: TimerTarget {
    private let done: CheckedContinuation<Void, Never>

    private init(_ done: CheckedContinuation<Void, Never>) { self.done = done }

    static func limit(_ nanoseconds: UInt64, on reactor: Reactor) async {
        await withCheckedContinuation { done in
            reactor.submit { ReactorTimer(on: reactor).arm(at: reactor.now + nanoseconds, calling: Passed(done)) }
        }
    }

    func timerFired(now: UInt64) { done.resume() }
}

/// Another user of the reactor: it runs a job in each turn, and counts the pieces that were delivered in between.
///
/// - Note: `@unchecked Sendable` because its mutable state is used only on the reactor's thread.
private final class Turns: @unchecked Sendable {
    private let benches: [EdgeBench]
    private let total: Int
    private var seen = 0
    private var steps: [Int] = []
    private let end: AsyncStream<[Int]>
    private let sink: AsyncStream<[Int]>.Continuation
    /// With several clients: only pieces beyond their shares count.
    private let free: Int

    init(of bench: EdgeBench, until total: Int) {
        (benches, self.total, free) = ([bench], total, 0)
        (end, sink) = AsyncStream.makeStream(of: [Int].self)
    }

    init(of benches: [EdgeBench], until total: Int) {
        (self.benches, self.total, free) = (benches, total, InputShare.unitsPerTurn)
        (end, sink) = AsyncStream.makeStream(of: [Int].self)
    }

    func begin() { benches[0].reactor.submit { self.takeTurn() } }

    private func takeTurn() {
        let count = benches.reduce(0) { $0 + max($1.pieces.count - free, 0) }
        if count > seen { steps.append(count - seen) }
        seen = count
        guard count < benches.count * (total - free) else {
            sink.yield(steps)
            return sink.finish()
        }
        benches[0].reactor.submit { self.takeTurn() }
    }

    /// - Returns: the numbers of pieces between two turns, without zeros.
    func finished() async -> [Int] {
        await end.first { _ in true } ?? []
    }
}
