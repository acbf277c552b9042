package import FleetWire
package import HTTPWire
package import WebSocketWire
package import WireText

/// The edge's requests to the layers behind it. One per reactor and reload; called on the reactor's thread.
package protocol EdgeHandler: AnyObject {
    /// The head of a request or upgrade has arrived; nil for input that isn't a valid request. The rest of the request
    /// has not been examined. Who accepts it says whose it is, once for all that follows.
    func limit(_ head: RequestHead?, peer: SocketAddress, isUnnamed: Bool) -> RequestLimitation

    /// A complete request: head and body. Answer it through the exchange, now or later.
    func handle(_ exchange: HTTPExchange)

    /// A request for a WebSocket, not answered yet. Accept or refuse it, now or later.
    func handle(_ upgrade: UpgradeExchange)

    /// The same for an upgrade that another gateway of the fleet has passed on. It comes here only, and must not be
    /// passed on again.
    func handle(_ passedOn: PassedOnUpgrade)

    /// A socket was closed before TLS.
    func connectionRefused(_ refusal: CensusRefusal)

    /// A socket was accepted; `connectionClosed` follows once.
    func connectionOpened()
    func connectionClosed()

    /// The TLS handshake of an accepted socket has ended.
    func handshakeEnded(_ outcome: HandshakeEnd)

    /// A connection to the fleet's own listener was ended before its first request.
    func gatewayRefused(_ refusal: GatewayRefusal, peer: SocketAddress)

    /// The edge refused a request before any handler received it. Returns the response to send.
    func answer(to fault: EdgeFault, peer: SocketAddress) -> HTTPAnswer
}

extension EdgeHandler {
    package func handshakeEnded(_ outcome: HandshakeEnd) {}
    package func gatewayRefused(_ refusal: GatewayRefusal, peer: SocketAddress) {}
    package func handle(_ passedOn: PassedOnUpgrade) { passedOn.upgrade.refuse(HTTPAnswer(status: 404)) }
}

/// An upgrade that another gateway has passed on, with what that gateway says of its client.
package struct PassedOnUpgrade {
    package let upgrade: UpgradeExchange
    package let preface: RelayPreface
}

/// How a client's TLS handshake ended.
package enum HandshakeEnd: Sendable {
    case completed, failed, timedOut
}

/// Whether a request is served at all.
package enum RequestLimitation {
    /// - Parameter client: a trusted proxy has named it; nil: the peer itself.
    case serve(client: IPAddress?)
    /// The response is sent, then the connection ends.
    case refuse(HTTPAnswer)
    /// The connection ends without a response.
    case close
}

/// Why the edge itself refused a request.
package enum EdgeFault: Hashable, Sendable {
    case malformed(RequestFault)
    /// A WebSocket upgrade request with a body.
    case bodyOfUpgrade
    /// The request began but did not arrive in time.
    case timedOut
    /// The upgrade was not decided in time.
    case undecided
    /// Another gateway has passed on something that isn't an upgrade.
    case relayedRequest
}

/// One request and its response, on the reactor's thread.
package final class HTTPExchange {
    package let head: RequestHead
    package let body: [UInt8]
    package let peer: SocketAddress
    /// As `EdgeHandler.limit` has determined it.
    package let client: IPAddress
    package let reactor: Reactor
    /// Nil once the response is given or the client is gone. The connection clears it when it ends.
    var connection: EdgeConnection?

    init(head: RequestHead, body: [UInt8], connection: EdgeConnection) {
        self.head = head
        self.body = body
        peer = connection.peer
        client = connection.requestClient ?? peer.address
        reactor = connection.reactor
        self.connection = connection
    }

    package var isTLS: Bool { connection?.isTLS ?? false }

    /// The certificate that the client presented; nil if the connection is gone. It is read from TLS at each call.
    package var certificate: PeerCertificate? {
        reactor.preconditionOnThread()
        return connection?.certificate
    }

    /// Sends the response. Only the first call has an effect; after the client is gone the response is discarded.
    package func respond(_ answer: HTTPAnswer) {
        reactor.preconditionOnThread()
        connection?.respond(answer)
        connection = nil
    }
}

/// A WebSocket upgrade request and its decision, with everything that the edge knows of the client. On the reactor's
/// thread.
///
/// While it is undecided the client may disconnect, which `isPending` detects, or send more. A bounded amount is kept,
/// then reading stops.
package final class UpgradeExchange {
    package let head: RequestHead
    /// The handshake, if it conforms to RFC 6455 §4.2.1; only then the upgrade can be accepted.
    package let opening: Result<OpeningHandshake, OpeningHandshake.Fault>
    /// The subprotocol that the 101 will name: the first offered one that the edge supports (RFC 6455 §4.2.2); nil if
    /// there is none.
    package let subprotocol: String?
    /// Those that the edge supports.
    package let knownSubprotocols: [String]
    package let peer: SocketAddress
    /// As in ``HTTPExchange``.
    package let client: IPAddress
    package let isTLS: Bool
    package let reactor: Reactor
    /// Nil once the upgrade is decided or the client is gone. The connection clears it when it ends.
    var connection: EdgeConnection?
    /// Called once if the connection ends, or answers by itself, before the decision.
    package var whenGone: (() -> Void)?

    init(
        head: RequestHead, _ opening: Result<OpeningHandshake, OpeningHandshake.Fault>, known subprotocols: [String],
        connection: EdgeConnection
    ) {
        self.head = head
        self.opening = opening
        subprotocol = (try? opening.get())?.subprotocol(known: subprotocols)
        knownSubprotocols = subprotocols
        peer = connection.client
        client = connection.requestClient ?? peer.address
        isTLS = connection.isClientTLS
        reactor = connection.reactor
        self.connection = connection
    }

    /// The upgrade is undecided and the client is still connected; a system call finds out. Check it before consuming a
    /// resource of the client.
    package var isPending: Bool {
        guard let connection else { return false }
        return !connection.hasClientGone
    }

    /// As in ``HTTPExchange``.
    package var certificate: PeerCertificate? {
        reactor.preconditionOnThread()
        return connection?.certificate
    }

    /// Sends the 101; then `handler` receives `webSocketOpened`, inside this call.
    ///
    /// - Parameter compresses: permessage-deflate is negotiated if the client offers it and memory is available.
    /// - Returns: false if the client is gone: no 101 was sent, and `handler` is never called.
    @discardableResult
    package func accept(_ handler: any WebSocketHandler, compresses: Bool = false) -> Bool {
        reactor.preconditionOnThread()
        whenGone = nil
        defer { connection = nil }
        guard case .success(let opening) = opening else { return false }
        return connection?.accept(handler, opening, compresses: compresses) ?? false
    }

    /// The connection has ended, or has answered by itself.
    func clientGone() {
        connection = nil
        let report = whenGone
        whenGone = nil
        report?()
    }

    /// Ends the connection without a response, for a client that is gone: while reading is paused, nothing else would
    /// detect that.
    package func abandon() {
        reactor.preconditionOnThread()
        whenGone = nil
        connection?.kill()
        connection = nil
    }

    /// Sends the response instead of a 101 and ends the connection.
    package func refuse(_ answer: HTTPAnswer) {
        reactor.preconditionOnThread()
        whenGone = nil
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
