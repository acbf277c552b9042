import HTTPWire
import WireText

@testable import Reactors

/// An edge with one listener on the shared reactor. It accepts every upgrade and handles it as the test specifies.
///
/// - Note: `@unchecked Sendable` because its mutable state is used only on the reactor's thread.
final class EdgeBench: EdgeHandler, WebSocketHandler, ClientWebSocketHandler, @unchecked Sendable {
    enum Event: Equatable, Sendable {
        case upgrade(path: String, subprotocol: String?)
        case opened
        case message(ReceivedMessage)
        case peerClosed(UInt16?)
        case closed
    }

    struct Seen: Sendable {
        let query: RequestQuery
        let authorization: String?
        let peer: SocketAddress
        let isUnnamed: Bool
    }

    let reactor: Reactor
    let census: ConnectionCensus
    let events: AsyncStream<Event>
    private let sink: AsyncStream<Event>.Continuation
    private let onOpened: @Sendable (WebSocketConnection) -> Void
    private var listener: EdgeListener?
    private let onOpenedAsClient: @Sendable (ClientWebSocket) -> Void
    private(set) var webSocket: WebSocketConnection?
    private(set) var clientSocket: ClientWebSocket?
    private(set) var seen: Seen?
    private var message: ReceivedMessage?
    private(set) var openConnections = 0
    private(set) var messageCount = 0
    /// The payload sizes of Pings and Pongs.
    private(set) var controlFrames: [Int] = []
    /// As the edge has said with the newest request.
    private var isUnnamed = false
    /// The limitation returned for every request.
    var limitation = RequestLimitation.serve(client: nil)
    /// The size of each message piece.
    private(set) var pieces: [Int] = []
    /// What was read, as the handler was told.
    private(set) var octetsRead = 0
    private(set) var stepsRead = 0
    /// Called with each piece, on the reactor's thread.
    var onPiece: @Sendable (WebSocketConnection?) -> Void = { _ in }

    init(
        on reactor: Reactor = TestReactor.shared,
        census: ConnectionCensus = ConnectionCensus(maximum: 100, maximumPerAddress: 100),
        onOpened: @escaping @Sendable (WebSocketConnection) -> Void = { _ in },
        onOpenedAsClient: @escaping @Sendable (ClientWebSocket) -> Void = { _ in }
    ) {
        self.onOpenedAsClient = onOpenedAsClient
        self.reactor = reactor
        self.census = census
        self.onOpened = onOpened
        (events, sink) = AsyncStream.makeStream(of: Event.self)
    }

    /// - Returns: the port.
    func serve(host: String = "127.0.0.1", _ settings: EdgeSettings = .plain) async throws -> UInt16 {
        try await reactor.run { [self] in
            Result { () throws(ReactorError) in
                let socket = try ListeningSocket(host: host, port: 0)
                let listener = try EdgeListener(reactor: reactor, settings: settings, census: census, handler: self)
                let port = socket.port
                listener.listen(on: socket.take())
                self.listener = listener
                return port
            }
        }.get()
    }

    func stop() async {
        await reactor.run { self.listener?.closeListening() }
    }

    /// Runs `body` with the open WebSocket, on the reactor's thread.
    func order(_ body: @escaping @Sendable (WebSocketConnection) -> Void) async {
        await reactor.run { if let webSocket = self.webSocket { body(webSocket) } }
    }

    private static func authorization(_ head: RequestHead) -> String? {
        let values = head.fields.all("authorization").map { String(decoding: $0, as: UTF8.self) }
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    // MARK: EdgeHandler

    func handle(_ exchange: HTTPExchange) {
        seen = Seen(
            query: RequestQuery(exchange.head.query), authorization: Self.authorization(exchange.head),
            peer: exchange.peer,
            isUnnamed: isUnnamed)
        exchange.respond(HTTPAnswer(status: 404))
    }

    func handle(_ upgrade: UpgradeExchange) {
        seen = Seen(
            query: RequestQuery(upgrade.head.query), authorization: Self.authorization(upgrade.head),
            peer: upgrade.peer,
            isUnnamed: isUnnamed)
        sink.yield(.upgrade(path: String(decoding: upgrade.head.path, as: UTF8.self), subprotocol: upgrade.subprotocol))
        upgrade.accept(self)
    }

    func limit(_ head: RequestHead?, peer: SocketAddress, isUnnamed: Bool) -> RequestLimitation {
        self.isUnnamed = isUnnamed
        return limitation
    }
    func connectionRefused(_ refusal: CensusRefusal) {}
    func connectionOpened() { openConnections += 1 }
    func connectionClosed() { openConnections -= 1 }
    func answer(to fault: EdgeFault, peer: SocketAddress) -> HTTPAnswer { HTTPAnswer(status: 400) }

    // MARK: WebSocketHandler

    func webSocketOpened(_ webSocket: WebSocketConnection) {
        self.webSocket = webSocket
        sink.yield(.opened)
        onOpened(webSocket)
    }

    /// As a client, with libwebsockets' own framing.
    func webSocketOpened(_ webSocket: ClientWebSocket) {
        clientSocket = webSocket
        sink.yield(.opened)
        onOpenedAsClient(webSocket)
    }

    /// Collects whole messages, relying only on `isFirst` and `isLast`.
    func webSocketReceived(_ piece: MessagePiece) {
        if piece.isFirst { message = ReceivedMessage(isText: piece.isText, payload: []) }
        message?.payload += Array(piece.bytes)
        pieces.append(piece.bytes.count)
        onPiece(webSocket)
        guard piece.isLast, let whole = message else { return }
        message = nil
        messageCount += 1
        sink.yield(.message(whole))
    }

    func webSocketPeerClosed(code: UInt16?) { sink.yield(.peerClosed(code)) }
    func webSocketReceivedControlFrame(bytes: Int) { controlFrames.append(bytes) }

    func webSocketWasRead(octets: Int, steps: Int) {
        octetsRead += octets
        stepsRead += steps
    }

    func webSocketHeardPong() {}
    func webSocketWrote() {}

    func webSocketClosed() {
        webSocket = nil
        clientSocket = nil
        sink.yield(.closed)
    }
}

extension EdgeSettings {
    static let plain = EdgeSettings(tls: nil, subprotocols: [], limits: EdgeLimits())
}

/// The client's side of an opening handshake, as text.
func upgradeRequest(target: String = "/", upgrade: String = "websocket", _ headers: String...) -> [UInt8] {
    let lines =
        [
            "GET \(target) HTTP/1.1", "Host: localhost", "Connection: Upgrade", "Upgrade: \(upgrade)",
            "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        ] + headers
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
}

extension PlainSocket {
    /// Reads a response's header, and nothing after it.
    func readHead() -> String? {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual(Array("\r\n\r\n".utf8)) {
            guard let byte = read(upTo: 1), !byte.isEmpty else { return nil }
            head += byte
        }
        return String(decoding: head, as: UTF8.self)
    }

    /// Reads frames until `isEnough` returns true.
    func readFrames(until isEnough: ([ReceivedFrame]) -> Bool) -> [ReceivedFrame]? {
        var bytes: [UInt8] = []
        while true {
            guard let (frames, consumed) = ReceivedFrame.all(in: bytes) else { return nil }
            if consumed == bytes.count, isEnough(frames) { return frames }
            guard let more = read(upTo: 65_536), !more.isEmpty else { return nil }
            bytes += more
        }
    }

    func writeFrame(_ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true) {
        write(clientFrame(opcode, payload, isFinal: isFinal))
    }
}

/// A client's frame, masked with zeros.
func clientFrame(_ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true) -> [UInt8] {
    let length: [UInt8] =
        payload.count < 126
        ? [0x80 | UInt8(payload.count)] : [0xFE, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
    return [(isFinal ? 0x80 : 0) | opcode] + length + [0, 0, 0, 0] + payload
}
