import Reactors

/// What carries a client's bytes: a WebSocket, or a stream as it is.
protocol ClientTransport: AnyObject {
    var queuedBytes: Int { get }
    func sendMessage(_ bytes: UnsafeRawBufferPointer, isText: Bool)
    func setReading(paused: Bool)
    func close(code: UInt16, reason: String)
    func drop()
    func reset()
}

extension ClientWebSocket: ClientTransport {}

/// One connection of a client: a client may have had many. Reactor thread only; it tells its client everything until the client has
/// turned away from it.
final class ClientLeg: ClientWebSocketHandler {
    weak var client: LoadClient?
    /// Hears of the end of one whose client has taken its session over to another.
    weak var replacements: ReplacedLegs?
    private(set) var transport: (any ClientTransport)?
    private var closeCode: UInt16??

    init(client: LoadClient) {
        self.client = client
    }

    /// What the peer has closed with; nil where no Close frame came.
    var ending: ErrorKind {
        switch closeCode {
        case .some(let code): .closed(code: code)
        case nil: .broken
        }
    }

    func webSocketOpened(_ webSocket: ClientWebSocket) {
        opened(webSocket)
    }

    func webSocketReceived(_ piece: MessagePiece) { client?.received(piece.bytes, isLast: piece.isLast) }
    func webSocketPeerClosed(code: UInt16?) { closeCode = .some(code) }
    func webSocketHeardPong() {}
    func webSocketWrote() { client?.wrote() }
    func webSocketClosed() { closed() }

    func opened(_ transport: any ClientTransport) {
        self.transport = transport
        client?.opened(self)
    }

    func closed() {
        transport = nil
        client?.closed(self)
        replacements?.ended(self)
    }
}
