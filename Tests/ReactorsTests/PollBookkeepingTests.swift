import CLibwebsockets
import HTTPWire
import Testing
import WireText

@testable import Reactors

/// libwebsockets with hooks for a foreign poll loop, as Debian 13 builds it, asks the callback before it changes its
/// tables.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct PollBookkeepingTests {
    /// Otherwise the connection would stay in the tables when it is freed.
    @Test(arguments: [
        LWS_CALLBACK_LOCK_POLL, LWS_CALLBACK_UNLOCK_POLL, LWS_CALLBACK_ADD_POLL_FD, LWS_CALLBACK_DEL_POLL_FD,
        LWS_CALLBACK_CHANGE_MODE_POLL_FD, LWS_CALLBACK_GET_THREAD_ID,
    ])
    func `poll changes of a killed connection are accepted`(reason: lws_callback_reasons) async throws {
        let handler = KeepingHandler()
        let port = try #require(await TestReactor.shared.run { handler.serve(on: TestReactor.shared) })
        let client = try PlainSocket.connected(host: "127.0.0.1", port: port)
        client.write(Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
        var events = handler.events.makeAsyncIterator()
        #expect(await events.next() == .asked)
        let answers = await TestReactor.shared.run { handler.answers(afterKill: reason) }
        #expect(answers?.hook == 0)
        #expect(answers?.event == -1)
        #expect(await events.next() == .closed)
        client.close()
        await TestReactor.shared.run { handler.stop() }
    }
}

/// Keeps the connection of the request that it got.
///
/// - Note: `@unchecked Sendable` because its mutable state is used only on the reactor's thread.
private final class KeepingHandler: EdgeHandler, @unchecked Sendable {
    enum Event { case asked, closed }

    let events: AsyncStream<Event>
    private let sink: AsyncStream<Event>.Continuation
    private var listener: EdgeListener?
    private var connection: EdgeConnection?

    init() { (events, sink) = AsyncStream.makeStream(of: Event.self) }

    func serve(on reactor: Reactor) -> UInt16? {
        guard let socket = try? ListeningSocket(host: "127.0.0.1", port: 0),
            let listener = try? EdgeListener(
                reactor: reactor, settings: .plain, census: ConnectionCensus(maximum: 10, maximumPerAddress: 10),
                handler: self)
        else { return nil }
        let port = socket.port
        listener.listen(on: socket.take())
        self.listener = listener
        return port
    }

    func stop() { listener?.closeListening() }

    /// What libwebsockets is answered after the connection was killed; nil without a connection. libuv closes it in the
    /// next turn.
    func answers(afterKill reason: lws_callback_reasons) -> (hook: Int32, event: Int32)? {
        guard let connection, let wsi = connection.wsi else { return nil }
        connection.kill()
        self.connection = nil
        return (lwsTrampoline(wsi, reason, nil, nil, 0), lwsTrampoline(wsi, LWS_CALLBACK_RAW_RX, nil, nil, 0))
    }

    func handle(_ exchange: HTTPExchange) {
        connection = exchange.connection
        sink.yield(.asked)
    }

    func handle(_ upgrade: UpgradeExchange) {}
    func limit(_ head: RequestHead?, peer: SocketAddress, isUnnamed: Bool) -> RequestLimitation { .serve(client: nil) }
    func connectionRefused(_ refusal: CensusRefusal) {}
    func connectionOpened() {}
    func connectionClosed() { sink.yield(.closed) }
    func answer(to fault: EdgeFault, peer: SocketAddress) -> HTTPAnswer { HTTPAnswer(status: 400) }
}
