/// What the outside's connections ask of the rooms behind. One per reactor; called on its thread.
package protocol EdgeHandler: AnyObject {
    /// The head of a request or upgrade has arrived, and nothing else of it has been looked at.
    func limit(_ head: RequestHead, peer: PeerAddress, isUnnamed: Bool) -> RequestLimitation

    /// A whole request: head and, for POST, all of its body. Answer it through the exchange, now or later.
    func handle(_ exchange: HTTPExchange)

    /// A request that asks for a WebSocket. Decided here and now: nothing has been answered yet.
    func handle(_ upgrade: UpgradeRequest) -> UpgradeDecision

    /// A socket was closed before TLS.
    func connectionRefused(_ refusal: CensusRefusal)

    /// A socket was accepted; `connectionClosed` follows once.
    func connectionOpened()
    func connectionClosed()

    /// The framing of a request was refused before anyone saw it: what to answer.
    func refusalAnswer(_ refusal: FramingRefusal, peer: PeerAddress) -> HTTPAnswer
}

/// A request to become a WebSocket, with all that the edge knows of the client.
package struct UpgradeRequest {
    package let head: RequestHead
    /// What the 101 will name: the first offered subprotocol that the edge knows (RFC 6455 §4.2.2); nil where none is.
    package let subprotocol: String?
    package let peer: PeerAddress
    /// `peer` is a trusted proxy that has said, before TLS, that it can't tell whose connection it is: what the request says of it is the
    /// client's own word.
    package let isUnnamed: Bool
    package let isTLS: Bool
    package let certificate: PeerCertificate?
}

/// Whether a request is served at all.
package enum RequestLimitation {
    case serve
    /// The answer is sent, and the connection ends.
    case refuse(HTTPAnswer)
    /// The connection ends without an answer.
    case close
}

package enum UpgradeDecision {
    /// The 101 is sent, then the handler hears `opened`.
    case accept(any WebSocketHandler)
    /// The answer is sent instead of a 101, and the connection ends.
    case refuse(HTTPAnswer)
}

/// One request and its answer, on the reactor's thread.
package final class HTTPExchange {
    package let head: RequestHead
    package let body: [UInt8]
    package let peer: PeerAddress
    /// As in ``UpgradeRequest``.
    package let isUnnamed: Bool
    package let reactor: Reactor
    /// Nil once the answer is given or the client is gone.
    weak var connection: EdgeConnection?

    init(head: RequestHead, body: [UInt8], connection: EdgeConnection) {
        self.head = head
        self.body = body
        peer = connection.peer
        isUnnamed = connection.isUnnamed
        reactor = connection.reactor
        self.connection = connection
    }

    package var isTLS: Bool { connection?.isTLS ?? false }

    /// The certificate that the client presented, if it is still there. Read from TLS at each call.
    package var certificate: PeerCertificate? {
        reactor.preconditionOnThread()
        return connection?.certificate
    }

    /// Sends the answer. The first one counts; after the client has gone it goes nowhere.
    package func respond(_ answer: HTTPAnswer) {
        reactor.preconditionOnThread()
        connection?.respond(answer)
        connection = nil
    }
}
