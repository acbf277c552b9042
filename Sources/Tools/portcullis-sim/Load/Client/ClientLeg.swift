import Reactors

/// The transport of a client's bytes: a WebSocket, or a plain stream.
protocol ClientTransport: AnyObject {
    var queuedBytes: Int { get }
    func sendMessage(_ bytes: UnsafeRawBufferPointer, isText: Bool)
    func setReading(paused: Bool)
    func close(code: UInt16, reason: String)
    func drop()
    func reset()
}

extension ClientWebSocket: ClientTransport {}

/// One of a client's successive connections. Reactor thread only. It reports all events to its client until the client
/// abandons it.
final class ClientLeg: ClientWebSocketHandler {
    weak var client: LoadClient?
    /// Receives the end of a connection whose client has moved its session to another one.
    weak var replacements: ReplacedLegs?
    private(set) var transport: (any ClientTransport)?
    private var closeCode: UInt16??

    init(client: LoadClient) {
        self.client = client
    }

    /// The peer's close code; nil if there was no Close frame.
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

/// Connections whose clients have moved to other connections while these were open: the gateway must close them with
/// 1008. Reactor thread only.
final class ReplacedLegs {
    static let code: UInt16 = 1008
    /// A connection that hasn't been closed by then is an error; younger ones may still be pending when the run ends.
    private static let patienceNanoseconds: UInt64 = 15_000_000_000

    private var waiting: [ObjectIdentifier: (leg: ClientLeg, since: UInt64)] = [:]
    /// The number of connections that were closed with 1008.
    private(set) var told: UInt64 = 0
    private(set) var untold: UInt64 = 0

    func `await`(_ leg: ClientLeg, since now: UInt64) {
        leg.replacements = self
        waiting[ObjectIdentifier(leg)] = (leg, now)
    }

    func ended(_ leg: ClientLeg) {
        guard waiting.removeValue(forKey: ObjectIdentifier(leg)) != nil else { return }
        if leg.ending == .closed(code: Self.code) { told += 1 } else { untold += 1 }
    }

    func finish(at now: UInt64) {
        let rest = waiting.values
        waiting = [:]
        untold += UInt64(rest.count { now - $0.since > Self.patienceNanoseconds })
        for entry in rest { entry.leg.transport?.drop() }
    }
}
