import Reactors

/// One WebSocket of a client: a client may have had many. Reactor thread only; it tells its client everything until the client has
/// turned away from it.
final class ClientLeg: WebSocketHandler {
    weak var client: LoadClient?
    /// Hears of the end of one whose client has taken its session over to another.
    weak var replacements: ReplacedLegs?
    private(set) var webSocket: WebSocketConnection?
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

    func webSocketOpened(_ webSocket: WebSocketConnection) {
        self.webSocket = webSocket
        client?.opened(self)
    }

    func webSocketReceived(_ piece: MessagePiece) { client?.received(piece) }
    func webSocketPeerClosed(code: UInt16?) { closeCode = .some(code) }
    func webSocketHeardPong() {}
    func webSocketWrote() { client?.wrote() }

    func webSocketClosed() {
        webSocket = nil
        client?.closed(self)
        replacements?.ended(self)
    }
}
