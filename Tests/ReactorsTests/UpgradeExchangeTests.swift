import HTTPWire
import Synchronization
import Testing
import WireText

@testable import Reactors

/// Upgrades with a delayed decision.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct UpgradeExchangeTests {
    @Test func `a later decision may be a 101, and data sent before it isn't lost`() async throws {
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

    @Test func `a later decision may be a refusal`() async throws {
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
    func `a client that leaves is noticed before the decision`(resets: Bool) async throws {
        let bench = LaterBench()
        let port = try await bench.serve()
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        socket.write(upgradeRequest())
        await bench.pending(1)
        socket.hangUp(resets: resets)
        await bench.closed(1)
        let opened = await bench.reactor.run { bench.exchanges.map { $0.isPending || $0.accept(Echo()) } }
        #expect(opened == [false])
        await bench.stop()
    }

    /// A handler that decides at once detects it too, although the reactor hasn't read the end of the stream yet.
    @Test(arguments: [true, false])
    func `a client that closed after its request isn't pending when the request is handled`(resets: Bool) async throws {
        let bench = LaterBench()
        let port = try await bench.serve()
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        await bench.closeBeforeHandling { socket.hangUp(resets: resets) }
        socket.write(upgradeRequest())
        await bench.closed(1)
        #expect(await bench.reactor.run { bench.wasPending } == [false])
        await bench.stop()
    }

    /// The audit log's entry depends on this.
    @Test func `a 101 that can't be sent any more opens no WebSocket`() async throws {
        let bench = LaterBench()
        let port = try await bench.serve()
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        socket.write(upgradeRequest())
        await bench.pending(1)
        let handler = Echo()
        let isOpen = await bench.reactor.run {
            // The reactor is busy here, so it can't have detected the close.
            socket.hangUp(resets: true)
            return bench.exchanges[0].accept(handler)
        }
        #expect(!isOpen && !handler.hasOpened)
        await bench.closed(1)
        await bench.stop()
    }

    /// Its socket isn't polled then: the close is detected at the decision, or at the deadline.
    @Test(arguments: [true, false])
    func `a client that leaves while it isn't read is noticed at the decision`(resets: Bool) async throws {
        let bench = LaterBench()
        let port = try await bench.serve()
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        socket.write(upgradeRequest())
        await bench.pending(1)
        _ = socket.fill(with: clientFrame(2, [UInt8](repeating: 7, count: 60_000)))
        socket.hangUp(resets: resets)
        if resets { #expect(await bench.reactor.run { bench.exchanges[0].isPending } == false) }
        await bench.decide { $0.abandon() }
        await bench.closed(1)
        await bench.stop()
    }

    @Test func `who decides is told that a client has left, and not after the decision`() async throws {
        let bench = LaterBench()
        let port = try await bench.serve()
        let sockets = try (0..<2).map { _ in try PlainSocket.connected(host: "127.0.0.1", port: port) }
        let told = Mutex<[Int]>([])
        for (index, socket) in sockets.enumerated() {
            socket.write(upgradeRequest())
            await bench.pending(index + 1)
            await bench.reactor.run {
                bench.exchanges[index].whenGone = { told.withLock { $0.append(index) } }
                if index == 1 { bench.exchanges[index].refuse(HTTPAnswer(status: 403)) }
            }
            socket.hangUp(resets: true)
            await bench.closed(index + 1)
        }
        #expect(told.withLock { $0 } == [0])
        await bench.stop()
    }

    @Test func `an undecided upgrade is refused at its time limit`() async throws {
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

    /// The kept input is bounded: TCP flow control slows the client down.
    @Test func `a client that keeps sending while it waits is read up to a limit`() async throws {
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

    /// A policy takes 20 ms per upgrade. Existing sessions go on without loss while new upgrades arrive and are
    /// decided.
    @Test func `sessions continue while a policy answers each upgrade after 20 ms`() async throws {
        let bench = LaterBench()
        let port = try await bench.serve()
        await bench.decideEach(after: 20_000_000) { $0.accept(Echo()) }
        let sessions = try (0..<100).map { _ in try Self.upgrading(port) }
        for socket in sessions { _ = try #require(socket.readHead()) }
        for round in 0..<4 {
            let waiting = try (0..<50).map { _ in try Self.upgrading(port) }
            for (number, socket) in sessions.enumerated() {
                let text = Array("\(round) of \(number)".utf8)
                socket.writeFrame(1, text)
                #expect(try #require(socket.readFrames { $0.count == 1 }).map(\.payload) == [text])
            }
            for socket in waiting { #expect(try #require(socket.readHead()).hasPrefix("HTTP/1.1 101 ")) }
            waiting.forEach { $0.close() }
        }
        sessions.forEach { $0.close() }
        await bench.closed(300)
        await bench.stop()
    }

    private static func upgrading(_ port: UInt16) throws -> PlainSocket {
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        socket.write(upgradeRequest())
        return socket
    }

    /// All upgrades wait for their decisions; existing sessions are served meanwhile.
    @Test func `two hundred waiting upgrades don't disturb a hundred sessions`() async throws {
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
/// - Note: `@unchecked Sendable` because its mutable state is used only on the reactor's thread.
private final class LaterBench: EdgeHandler, TimerTarget, @unchecked Sendable {
    let reactor = TestReactor.shared
    private(set) var exchanges: [UpgradeExchange] = []
    private var closedCount = 0
    private var listener: EdgeListener?
    private var timer: ReactorTimer?
    /// The delay of each decision; 0 for none.
    private var decisionDelay: UInt64 = 0
    private var alarms: [DecisionAlarm] = []
    private var beforeHandling: (@Sendable () -> Void)?
    /// The value of `isPending` when each exchange arrived.
    private(set) var wasPending: [Bool] = []
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
            timer = ReactorTimer(on: reactor)
            timerFired(now: reactor.now)
        }
    }

    /// - Parameter delay: nanoseconds.
    func decideEach(after delay: UInt64, _ decision: @escaping @Sendable (UpgradeExchange) -> Void) async {
        await reactor.run { [self] in
            self.decision = decision
            decisionDelay = delay
        }
    }

    private func decideLater(_ upgrade: UpgradeExchange) {
        let alarm = DecisionAlarm { [self] in decision?(upgrade) }
        alarm.timer = ReactorTimer(on: reactor)
        alarm.timer?.arm(at: reactor.now + decisionDelay, calling: alarm)
        alarms.append(alarm)
    }

    /// Runs `body` on the reactor's thread after each request has been read and before it is handled.
    func closeBeforeHandling(_ body: @escaping @Sendable () -> Void) async {
        await reactor.run { self.beforeHandling = body }
    }

    func timerFired(now: UInt64) {
        guard !exchanges.isEmpty else { return }
        decision?(exchanges.removeFirst())
        timer?.arm(at: now + interval, calling: self)
    }

    func handle(_ exchange: HTTPExchange) { exchange.respond(HTTPAnswer(status: 404)) }
    func handle(_ upgrade: UpgradeExchange) {
        beforeHandling?()
        wasPending.append(upgrade.isPending)
        exchanges.append(upgrade)
        if decisionDelay > 0 { decideLater(upgrade) }
        changed.yield()
    }
    func limit(_ head: RequestHead?, peer: SocketAddress, isUnnamed: Bool) -> RequestLimitation { .serve(client: nil) }
    func connectionRefused(_ refusal: CensusRefusal) {}
    func connectionOpened() {}
    func connectionClosed() {
        closedCount += 1
        changed.yield()
    }
    func answer(to fault: EdgeFault, peer: SocketAddress) -> HTTPAnswer {
        HTTPAnswer(status: fault == .undecided ? 503 : 400)
    }
}

/// One delayed decision. Reactor thread only.
private final class DecisionAlarm: TimerTarget {
    var timer: ReactorTimer?
    private let decide: () -> Void

    init(_ decide: @escaping () -> Void) { self.decide = decide }

    func timerFired(now: UInt64) { decide() }
}

/// Echoes each message.
///
/// - Note: `@unchecked Sendable` because its mutable state is used only on the reactor's thread.
private final class Echo: WebSocketHandler, @unchecked Sendable {
    private(set) var hasOpened = false
    private var webSocket: WebSocketConnection?
    private var message: [UInt8] = []

    func webSocketOpened(_ webSocket: WebSocketConnection) {
        hasOpened = true
        self.webSocket = webSocket
    }
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
