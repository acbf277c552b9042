import HTTPWire
import Testing
import WireText

@testable import Reactors

/// The gateway's detection of lost clients while their WebSocket is paused.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct PausedWebSocketTests {
    private static let handshake = Array(
        """
        GET / HTTP/1.1\r
        Host: localhost\r
        Connection: Upgrade\r
        Upgrade: websocket\r
        Sec-WebSocket-Version: 13\r
        Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r
        \r

        """.utf8)

    @Test(arguments: [true, false])
    func `a ping detects that a paused client has gone`(resets: Bool) async throws {
        let handler = PausingHandler()
        let port = try #require(await TestReactor.shared.run { handler.serve(on: TestReactor.shared) })
        let client = try PlainSocket.connected(host: "127.0.0.1", port: port)
        client.write(Self.handshake)
        var events = handler.events.makeAsyncIterator()
        #expect(await events.next() == .paused)
        if resets { client.resetAtClose() }
        client.close()
        // Each turn sends one ping. The client's kernel answers a ping to a closed socket with RST.
        let pinging = Task {
            while !Task.isCancelled { await TestReactor.shared.run { handler.webSocket?.ping() } }
        }
        #expect(await events.next() == .closed)
        pinging.cancel()
        await TestReactor.shared.run { handler.stop() }
    }
}

/// Accepts every upgrade and pauses reading at once.
///
/// - Note: `@unchecked Sendable` because its mutable state is used only on the reactor's thread.
private final class PausingHandler: EdgeHandler, WebSocketHandler, @unchecked Sendable {
    enum Event { case paused, closed }

    let events: AsyncStream<Event>
    private let sink: AsyncStream<Event>.Continuation
    private var listener: EdgeListener?
    private(set) var webSocket: WebSocketConnection?

    init() { (events, sink) = AsyncStream.makeStream(of: Event.self) }

    func serve(on reactor: Reactor) -> UInt16? {
        guard let socket = try? ListeningSocket(host: "127.0.0.1", port: 0),
            let listener = try? EdgeListener(
                reactor: reactor, settings: EdgeSettings(tls: nil, subprotocols: [], limits: EdgeLimits()),
                census: ConnectionCensus(maximum: 10, maximumPerAddress: 10), handler: self)
        else { return nil }
        let port = socket.port
        listener.listen(on: socket.take())
        self.listener = listener
        return port
    }

    func stop() { listener?.closeListening() }

    // MARK: EdgeHandler

    func handle(_ exchange: HTTPExchange) { exchange.respond(HTTPAnswer(status: 404)) }
    func handle(_ upgrade: UpgradeExchange) { upgrade.accept(self) }
    func limit(_ head: RequestHead?, peer: SocketAddress, isUnnamed: Bool) -> RequestLimitation { .serve(client: nil) }
    func connectionRefused(_ refusal: CensusRefusal) {}
    func connectionOpened() {}
    func connectionClosed() {}
    func answer(to fault: EdgeFault, peer: SocketAddress) -> HTTPAnswer { HTTPAnswer(status: 400) }

    // MARK: WebSocketHandler

    func webSocketOpened(_ webSocket: WebSocketConnection) {
        self.webSocket = webSocket
        webSocket.setReading(paused: true)
        sink.yield(.paused)
    }

    func webSocketReceived(_ piece: MessagePiece) {}
    func webSocketPeerClosed(code: UInt16?) {}
    func webSocketReceivedControlFrame(bytes: Int) {}
    func webSocketHeardPong() {}
    func webSocketWrote() {}

    func webSocketClosed() {
        webSocket = nil
        sink.yield(.closed)
    }
}
