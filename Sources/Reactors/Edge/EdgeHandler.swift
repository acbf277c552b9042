package import HTTPWire
import WebSocketWire

/// What the outside's connections ask of the rooms behind. One per reactor; called on its thread.
package protocol EdgeHandler: AnyObject {
    /// The head of a request or upgrade has arrived, or what isn't a request (nil). Nothing else of it has been looked at.
    func limit(_ head: RequestHead?, peer: PeerAddress, isUnnamed: Bool) -> RequestLimitation

    /// A whole request: head and body. Answer it through the exchange, now or later.
    func handle(_ exchange: HTTPExchange)

    /// A request that asks for a WebSocket. Nothing has been answered yet: accept or refuse it, now or later.
    func handle(_ upgrade: UpgradeExchange)

    /// A socket was closed before TLS.
    func connectionRefused(_ refusal: CensusRefusal)

    /// A socket was accepted; `connectionClosed` follows once.
    func connectionOpened()
    func connectionClosed()

    /// A request was refused before anyone saw it: what to answer.
    func answer(to fault: EdgeFault, peer: PeerAddress) -> HTTPAnswer
}

/// Whether a request is served at all.
package enum RequestLimitation {
    case serve
    /// The answer is sent, and the connection ends.
    case refuse(HTTPAnswer)
    /// The connection ends without an answer.
    case close
}

/// Why a request was refused by the edge itself.
package enum EdgeFault: Hashable, Sendable {
    case malformed(RequestFault)
    /// A body behind a request that asks for a WebSocket.
    case bodyOfUpgrade
    /// The request began, and didn't arrive in its time.
    case timedOut
    /// The upgrade wasn't decided in its time.
    case undecided
}

/// One request and its answer, on the reactor's thread.
package final class HTTPExchange {
    package let head: RequestHead
    package let body: [UInt8]
    package let peer: PeerAddress
    /// `peer` is a trusted proxy that has said, before TLS, that it can't tell whose connection it is: what the request says of it is the
    /// client's own word.
    package let isUnnamed: Bool
    package let reactor: Reactor
    /// Nil once the answer is given or the client is gone: the connection says so when it ends.
    var connection: EdgeConnection?

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

/// A request to become a WebSocket, with all that the edge knows of the client, and its answer. On the reactor's thread.
///
/// While it is undecided the client may go, which `isPending` tells, and may send on: a bounded amount is kept, then reading stops.
package final class UpgradeExchange {
    package let head: RequestHead
    /// What the 101 will name: the first offered subprotocol that the edge knows (RFC 6455 §4.2.2); nil where none is.
    package let subprotocol: String?
    package let peer: PeerAddress
    /// As in ``HTTPExchange``.
    package let isUnnamed: Bool
    package let isTLS: Bool
    package let reactor: Reactor
    /// Nil once it is decided or the client is gone: the connection says so when it ends.
    var connection: EdgeConnection?

    private let opening: OpeningHandshake?

    init(head: RequestHead, known subprotocols: [String], connection: EdgeConnection) {
        self.head = head
        opening = try? OpeningHandshake.check(OpeningRequest(head))
        subprotocol = opening?.subprotocol(known: subprotocols)
        peer = connection.peer
        isUnnamed = connection.isUnnamed
        isTLS = connection.isTLS
        reactor = connection.reactor
        self.connection = connection
    }

    /// Whether the request follows RFC 6455 §4.2.1. One that doesn't can't be accepted.
    package var isWellFormed: Bool { opening != nil }

    /// Nobody has decided, and the client is there: a system call finds out. Ask before anything of the client's is spent.
    package var isPending: Bool {
        guard let connection else { return false }
        return !connection.hasClientGone
    }

    /// As in ``HTTPExchange``.
    package var certificate: PeerCertificate? {
        reactor.preconditionOnThread()
        return connection?.certificate
    }

    /// Sends the 101; then `handler` hears `webSocketOpened`, inside this call.
    ///
    /// - Parameter compresses: permessage-deflate is agreed on where the client offers it and there is memory for it.
    /// - Returns: false where the client is gone: then no 101 was sent, and `handler` never hears anything.
    @discardableResult
    package func accept(_ handler: any WebSocketHandler, compresses: Bool = false) -> Bool {
        reactor.preconditionOnThread()
        defer { connection = nil }
        guard let opening else { return false }
        return connection?.accept(handler, opening, compresses: compresses) ?? false
    }

    /// Ends the connection without an answer, for a client that has gone: where reading is paused nobody else would notice.
    package func abandon() {
        reactor.preconditionOnThread()
        connection?.kill()
        connection = nil
    }

    /// Sends the answer instead of a 101, and the connection ends.
    package func refuse(_ answer: HTTPAnswer) {
        reactor.preconditionOnThread()
        connection?.refuse(answer)
        connection = nil
    }
}

extension OpeningRequest {
    init(_ head: RequestHead) {
        func values(_ name: String) -> [String] { head.fields.all(name).map { String(decoding: $0, as: UTF8.self) } }
        self.init(
            method: String(decoding: head.method, as: UTF8.self), version: (1, head.version == .http11 ? 1 : 0),
            upgrade: values("upgrade"), connection: values("connection"), key: values("sec-websocket-key"),
            webSocketVersion: values("sec-websocket-version"), protocols: values("sec-websocket-protocol"),
            extensions: values("sec-websocket-extensions"))
    }
}
