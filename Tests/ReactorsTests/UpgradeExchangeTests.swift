import HTTPWire
import Testing

@testable import Reactors

/// Upgrades that are decided later.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct UpgradeExchangeTests {
    @Test func `a decision that comes later is a 101, and what the client sent ahead isn't lost`() async throws {
        let bench = LaterBench()
        let port = try await bench.serve()
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        socket.write(upgradeRequest() + clientFrame(1, Array("early".utf8)))
        await bench.pending(1)
        socket.writeFrame(1, Array("later".utf8))
        await bench.decide { $0.accept(Echo()) }
        #expect(try #require(socket.readHead()).hasPrefix("HTTP/1.1 101 "))
        let frames = try #require(socket.readFrames { $0.count == 2 })
        #expect(frames.map(\.payload) == [Array("early".utf8), Array("later".utf8)])
        socket.close()
        await bench.stop()
    }

    @Test func `a decision that comes later may be a refusal`() async throws {
        let bench = LaterBench()
        let port = try await bench.serve()
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        socket.write(upgradeRequest())
        await bench.pending(1)
        await bench.decide { $0.refuse(HTTPAnswer(status: 403)) }
        #expect(try #require(socket.readHead()).hasPrefix("HTTP/1.1 403 "))
        #expect(socket.readAll() == [])
        socket.close()
        await bench.stop()
    }

    @Test(arguments: [true, false])
    func `a client that goes is noticed before anything is decided`(resets: Bool) async throws {
        let bench = LaterBench()
        let port = try await bench.serve()
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        socket.write(upgradeRequest())
        await bench.pending(1)
        if resets { socket.resetAtClose() }
        socket.close()
        await bench.closed(1)
        let opened = await bench.reactor.run { bench.exchanges.map { $0.isPending || $0.accept(Echo()) } }
        #expect(opened == [false])
        await bench.stop()
    }

    @Test func `an upgrade that nobody decides is refused when its time is up`() async throws {
        let bench = LaterBench()
        var settings = EdgeSettings.plain
        settings.limits.upgradeMilliseconds = 50
        let port = try await bench.serve(settings)
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        socket.write(upgradeRequest())
        #expect(try #require(socket.readHead()).hasPrefix("HTTP/1.1 503 "))
        #expect(await bench.reactor.run { bench.exchanges.map(\.isPending) } == [false])
        socket.close()
        await bench.stop()
    }

    /// What is kept for it is bounded: TCP slows the client down.
    @Test func `a client that sends on while it waits is not read for ever`() async throws {
        let bench = LaterBench()
        let port = try await bench.serve()
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        socket.write(upgradeRequest())
        await bench.pending(1)
        let frame = clientFrame(2, [UInt8](repeating: 7, count: 60_000))
        let sent = socket.fill(with: frame)
        #expect(sent > HTTPStage.maximumKeptBytes)
        await bench.decide { $0.accept(Echo()) }
        #expect(try #require(socket.readHead()).hasPrefix("HTTP/1.1 101 "))
        #expect(try #require(socket.readFrames { $0.contains(where: \.isFinal) }).isEmpty == false)
        socket.close()
        await bench.stop()
    }

    /// Each decision takes 20 ms; the sessions that stand are served meanwhile.
    @Test func `two hundred upgrades that wait leave a hundred sessions alone`() async throws {
        let bench = LaterBench()
        let port = try await bench.serve()
        var sessions: [PlainSocket] = []
        for _ in 0..<100 {
            let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
            socket.write(upgradeRequest())
            sessions.append(socket)
        }
        await bench.pending(100)
        await bench.decide { $0.accept(Echo()) }
        for socket in sessions { _ = try #require(socket.readHead()) }
        var waiting: [PlainSocket] = []
        for _ in 0..<200 {
            let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
            socket.write(upgradeRequest())
            waiting.append(socket)
        }
        await bench.pending(200)
        for (number, socket) in sessions.enumerated() {
            socket.writeFrame(1, Array("\(number)".utf8))
            let frames = try #require(socket.readFrames { $0.count == 1 })
            #expect(frames[0].payload == Array("\(number)".utf8))
        }
        #expect(await bench.reactor.run { bench.exchanges.count } == 200)
        await bench.decideOneByOne(every: 20_000_000) { $0.accept(Echo()) }
        for socket in waiting { #expect(try #require(socket.readHead()).hasPrefix("HTTP/1.1 101 ")) }
        (sessions + waiting).forEach { $0.close() }
        await bench.stop()
    }
}

/// Keeps each upgrade until a test decides it.
///
/// - Note: `@unchecked Sendable` because what is mutable here is touched on the reactor's thread alone.
private final class LaterBench: EdgeHandler, TimerTarget, @unchecked Sendable {
    let reactor = TestReactor.shared
    private(set) var exchanges: [UpgradeExchange] = []
    private var closedCount = 0
    private var listener: EdgeListener?
    private var timer: ReactorTimer?
    private var decision: ((UpgradeExchange) -> Void)?
    private var interval: UInt64 = 0
    private let changes: AsyncStream<Void>
    private let changed: AsyncStream<Void>.Continuation

    init() { (changes, changed) = AsyncStream.makeStream(of: Void.self) }

    func serve(_ settings: EdgeSettings = .plain) async throws -> UInt16 {
        try await reactor.run { [self] in
            Result { () throws(ReactorError) in
                let socket = try ListeningSocket(host: "127.0.0.1", port: 0)
                let census = ConnectionCensus(maximum: 1_000, maximumPerAddress: 1_000)
                let listener = try EdgeListener(reactor: reactor, settings: settings, census: census, handler: self)
                let port = socket.port
                listener.listen(on: socket.take())
                self.listener = listener
                return port
            }
        }.get()
    }

    func stop() async { await reactor.run { self.listener?.closeListening() } }

    func pending(_ count: Int) async { await wait { $0.exchanges.count >= count } }
    func closed(_ count: Int) async { await wait { $0.closedCount >= count } }

    private func wait(_ isDone: @escaping @Sendable (LaterBench) -> Bool) async {
        if await reactor.run({ isDone(self) }) { return }
        for await _ in changes where await reactor.run({ isDone(self) }) { return }
    }

    func decide(_ decision: @escaping @Sendable (UpgradeExchange) -> Void) async {
        await reactor.run { [self] in
            exchanges.forEach(decision)
            exchanges = []
        }
    }

    /// - Parameter interval: nanoseconds.
    func decideOneByOne(
        every interval: UInt64, _ decision: @escaping @Sendable (UpgradeExchange) -> Void
    ) async {
        await reactor.run { [self] in
            self.decision = decision
            self.interval = interval
            timer = ReactorTimer(on: reactor, target: self)
            timerFired(now: reactor.now)
        }
    }

    func timerFired(now: UInt64) {
        guard !exchanges.isEmpty else { return }
        decision?(exchanges.removeFirst())
        timer?.arm(at: now + interval)
    }

    func handle(_ exchange: HTTPExchange) { exchange.respond(HTTPAnswer(status: 404)) }
    func handle(_ upgrade: UpgradeExchange) {
        exchanges.append(upgrade)
        changed.yield()
    }
    func limit(_ head: RequestHead?, peer: PeerAddress, isUnnamed: Bool) -> RequestLimitation { .serve }
    func connectionRefused(_ refusal: CensusRefusal) {}
    func connectionOpened() {}
    func connectionClosed() {
        closedCount += 1
        changed.yield()
    }
    func answer(to fault: EdgeFault, peer: PeerAddress) -> HTTPAnswer {
        HTTPAnswer(status: fault == .undecided ? 503 : 400)
    }
}

/// Sends each message back.
private final class Echo: WebSocketHandler {
    private var webSocket: WebSocketConnection?
    private var message: [UInt8] = []

    func webSocketOpened(_ webSocket: WebSocketConnection) { self.webSocket = webSocket }
    func webSocketReceived(_ piece: MessagePiece) {
        message += Array(piece.bytes)
        guard piece.isLast else { return }
        message.withUnsafeBytes { webSocket?.sendMessage($0, isText: piece.isText) }
        message = []
    }
    func webSocketPeerClosed(code: UInt16?) {}
    func webSocketReceivedControlFrame(bytes: Int) {}
    func webSocketHeardPong() {}
    func webSocketWrote() {}
    func webSocketClosed() { webSocket = nil }
}
