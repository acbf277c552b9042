import CLibwebsockets
import COpenSSL
import Glibc

/// One socket of the outside, from accept to close: TLS, then requests one after another, then perhaps a WebSocket.
///
/// The stages only go forward but for keep-alive, and each has its deadline. Reactor thread only.
final class EdgeConnection: LWSOwner, TimerTarget {
    private enum Stage {
        case handshakingTLS
        case awaitingRequest
        case receivingBody(RequestHead, [UInt8], expected: Int)
        case answering(HTTPExchange)
        /// The answer waits for libwebsockets to call for it, or for room in the socket until `end` (monotonic nanoseconds).
        case writing(OutgoingAnswer, end: UInt64)
        /// The gate has said yes; the 101 is on its way.
        case admitted(any WebSocketHandler, subprotocol: String?)
        case webSocket(WebSocketConnection)
        case ended
    }

    let peer: PeerAddress
    /// `peer` is a trusted proxy whose PROXY header names nobody.
    let isUnnamed: Bool
    private let listener: EdgeListener
    private var stage = Stage.handshakingTLS
    /// Nil where no stage is left that has one.
    private var deadline: ReactorTimer?
    private var mayKeepAlive = false
    private var isLingering = false
    /// The socket is full: nothing is read, and the timer looks for room.
    private var isHeldUp = false
    private static let retryMilliseconds = 50

    private var limits: EdgeLimits { listener.settings.limits }
    var isTLS: Bool { listener.settings.tls != nil }

    init(listener: EdgeListener, peer: PeerAddress, isUnnamed: Bool) {
        self.listener = listener
        self.peer = peer
        self.isUnnamed = isUnnamed
        super.init(reactor: listener.reactor)
    }

    // MARK: From accept to close

    /// Hands the socket to libwebsockets, which closes it, also when this fails.
    func adopt(_ socket: Int32, into vhost: OpaquePointer) {
        let opaque = Unmanaged.passRetained(self as LWSOwner)  // Released by the trampoline at WSI_DESTROY.
        arm(limits.tlsHandshakeMilliseconds)
        reactor.hasCreatedWSI = false
        if portcullis_lws_adopt_socket(vhost, socket, isTLS ? 1 : 0, opaque.toOpaque()) == nil, !reactor.hasCreatedWSI {
            // No room for another connection: libwebsockets has closed the socket, and no WSI_DESTROY will come.
            _ = destroyed()
            opaque.release()
        }
    }

    override func callback(_ reason: lws_callback_reasons, _ input: UnsafeRawBufferPointer) -> Int32 {
        switch reason {
        case LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED: return 0
        case LWS_CALLBACK_FILTER_HTTP_CONNECTION: return 0
        case LWS_CALLBACK_HTTP: return requestArrived()
        case LWS_CALLBACK_HTTP_BODY: return bodyArrived(input)
        case LWS_CALLBACK_HTTP_BODY_COMPLETION: return bodyCompleted()
        case LWS_CALLBACK_HTTP_WRITEABLE: return writePendingAnswer()
        case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE: return upgradeArrived()
        case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION: return upgradeBegins()
        case LWS_CALLBACK_ESTABLISHED: return established()
        case LWS_CALLBACK_CLOSED, LWS_CALLBACK_CLOSED_HTTP: return ended()
        case LWS_CALLBACK_WSI_DESTROY: return destroyed()
        case LWS_CALLBACK_RAW_ADOPT, LWS_CALLBACK_RAW_RX, LWS_CALLBACK_RAW_WRITEABLE,
            LWS_CALLBACK_RAW_PROXY_SRV_ADOPT, LWS_CALLBACK_RAW_PROXY_SRV_RX:
            // `CONNECT` and the like would turn the connection into a raw one, past the gate.
            return -1
        default:
            guard case .webSocket(let webSocket) = stage else { return 0 }
            return webSocket.callback(reason, input)
        }
    }

    private func ended() -> Int32 {
        deadline?.cancel()
        if case .webSocket(let webSocket) = stage {
            webSocket.ended()
        }
        stage = .ended
        return 0
    }

    private func destroyed() -> Int32 {
        _ = ended()
        if !isLingering {
            listener.census.leave(peer)
        }
        listener.handler.connectionClosed()
        return 0
    }

    // MARK: Deadlines

    private func arm(_ milliseconds: Int) {
        let deadline = deadline ?? ReactorTimer(on: reactor, target: self)
        self.deadline = deadline
        deadline.arm(at: reactor.now + UInt64(milliseconds) * 1_000_000)
    }

    func timerFired(now: UInt64) {
        if case .handshakingTLS = stage, isHandshakeDone {
            stage = .awaitingRequest
            return arm(limits.headerMilliseconds)
        }
        if case .writing(_, let end) = stage, isHeldUp, now < end { return retryAnswer() }
        kill()
    }

    private var isHandshakeDone: Bool {
        guard isTLS else { return true }
        guard let wsi, let ssl = lws_get_ssl(wsi) else { return false }
        return SSL_is_init_finished(ssl) == 1
    }

    // MARK: Requests

    private func requestArrived() -> Int32 {
        guard let wsi, let head = RequestHead(of: wsi) else { return -1 }
        if let end = endAboveLimit(head) { return end }
        mayKeepAlive = head.isHTTP11 && !(head["connection"] ?? "").lowercased().contains("close")
        switch RequestFraming.check(head, maximumBodyBytes: limits.maximumBodyBytes) {
        case .refused(let refusal):
            return refuse(listener.handler.refusalAnswer(refusal, peer: peer))
        case .body(let expected):
            stage = .receivingBody(head, [], expected: expected)
            arm(limits.bodyMilliseconds)
        case .none:
            deliver(head, [])
        }
        return 0
    }

    /// - Returns: nil where the request is served.
    private func endAboveLimit(_ head: RequestHead) -> Int32? {
        switch listener.handler.limit(head, peer: peer, isUnnamed: isUnnamed) {
        case .serve: nil
        case .refuse(let answer): refuse(answer)
        case .close: -1
        }
    }

    private func bodyArrived(_ input: UnsafeRawBufferPointer) -> Int32 {
        // A piece that nobody waits for comes from libwebsockets' loop over pipelined input, which only -1 ends.
        guard case .receivingBody(let head, var body, let expected) = stage else { return input.isEmpty ? 0 : -1 }
        stage = .ended  // Lets go of the array, so that it grows in place.
        guard body.count + input.count <= expected, !isOwnHead(body, input) else { return -1 }
        body.append(contentsOf: input)
        stage = .receivingBody(head, body, expected: expected)
        return 0
    }

    /// Of a POST that was pipelined libwebsockets 4.1.6 takes the head for the body. No JSON begins as a head does.
    private func isOwnHead(_ body: [UInt8], _ input: UnsafeRawBufferPointer) -> Bool {
        body.isEmpty && input.first == UInt8(ascii: "P")
    }

    private func bodyCompleted() -> Int32 {
        // Completed twice: see above. Without the -1 it is completed for ever.
        guard case .receivingBody(let head, let body, let expected) = stage else { return -1 }
        guard body.count == expected else { return -1 }
        deliver(head, body)
        return 0
    }

    private func deliver(_ head: RequestHead, _ body: [UInt8]) {
        deadline?.cancel()
        let exchange = HTTPExchange(head: head, body: body, connection: self)
        stage = .answering(exchange)
        listener.handler.handle(exchange)
    }

    // MARK: Answers

    /// From the exchange: keeps the answer until libwebsockets says that the socket takes it.
    func respond(_ answer: HTTPAnswer) {
        guard case .answering(let exchange) = stage, let wsi else { return }
        var answer = answer
        answer.closesConnection = answer.closesConnection || !mayKeepAlive
        let outgoing = OutgoingAnswer(answer, omittingBody: exchange.head.method == .head, isSecure: isTLS)
        stage = .writing(outgoing, end: reactor.now + UInt64(limits.answerMilliseconds) * 1_000_000)
        arm(limits.answerMilliseconds)
        lws_callback_on_writable(wsi)
    }

    private func writePendingAnswer() -> Int32 {
        guard case .writing(var answer, let end) = stage, let wsi else { return 0 }
        let progress = answer.write(to: wsi)
        stage = .writing(answer, end: end)
        switch progress {
        case .broken: return -1
        case .full: return holdUp(wsi)
        case .done: return answer.closesConnection ? endAfterAnswer(wsi) : awaitNextRequest(wsi)
        }
    }

    /// What the client sends on without reading our answer would call us again and again: it isn't read, and since libwebsockets then
    /// doesn't write either the timer looks for room.
    private func holdUp(_ wsi: OpaquePointer) -> Int32 {
        if !isHeldUp { lws_rx_flow_control(wsi, 0) }
        isHeldUp = true
        arm(Self.retryMilliseconds)
        return 0
    }

    private func retryAnswer() {
        guard let wsi, writePendingAnswer() != 0 else { return }
        // Not `kill`, which would shut down what the linger still has to send.
        lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC)
    }

    /// Only with room in the socket: libwebsockets waits for room before it reads on, and what the client has sent keeps it turning.
    private func awaitNextRequest(_ wsi: OpaquePointer) -> Int32 {
        let wasHeldUp = isHeldUp
        isHeldUp = false
        if wasHeldUp { lws_rx_flow_control(wsi, 1) }
        guard lws_http_transaction_completed(wsi) == 0 else { return -1 }
        stage = .awaitingRequest
        arm(limits.keepAliveSeconds * 1_000 + limits.headerMilliseconds)
        if wasHeldUp { lws_cancel_service(lws_get_context(wsi)) }
        return 0
    }

    /// Writes the answer and ends the connection, in such a way that the client can read the answer.
    private func refuse(_ answer: HTTPAnswer) -> Int32 {
        var answer = answer
        answer.closesConnection = true
        guard let wsi else { return -1 }
        var outgoing = OutgoingAnswer(answer, omittingBody: false, isSecure: isTLS)
        // Who doesn't read our answers gets no more of them: see `WebSocketConnection.flush`.
        guard case .done = outgoing.write(to: wsi) else { return -1 }
        return endAfterAnswer(wsi)
    }

    private func endAfterAnswer(_ wsi: OpaquePointer) -> Int32 {
        stage = .ended
        let census = listener.census
        let peer = peer
        let linger = LingeringClose(duplicating: lws_get_socket_fd(wsi), on: reactor) { census.leave(peer) }
        isLingering = linger != nil
        linger?.begin()
        return -1
    }

    // MARK: The upgrade

    private func upgradeBegins() -> Int32 {
        guard case .admitted = stage, let wsi else { return -1 }
        ReceiveBuffer.willBeMade(for: wsi, isTLS: isTLS)
        return 0
    }

    /// libwebsockets asks here before it answers or matches subprotocols: the only place where the gate may stand.
    private func upgradeArrived() -> Int32 {
        // The callback's own argument can dangle for an unknown value (CVE-2025-11677): the header itself is read.
        guard let wsi, let head = RequestHead(of: wsi), head["upgrade"]?.lowercased() == "websocket",
            lws_send_pipe_choked(wsi) == 0
        else { return -1 }
        if let end = endAboveLimit(head) { return end }
        guard case .none = RequestFraming.check(head, maximumBodyBytes: 0), RequestFraming.fitsLibwebsockets(head)
        else {
            return refuse(listener.handler.refusalAnswer(.malformed("framing of an upgrade"), peer: peer))
        }
        let subprotocol = SubprotocolOffer.choose(
            from: head["sec-websocket-protocol"], known: listener.settings.subprotocols)
        let request = UpgradeRequest(
            head: head, subprotocol: subprotocol, peer: peer, isUnnamed: isUnnamed, isTLS: isTLS,
            certificate: certificate(of: wsi))
        switch listener.handler.handle(request) {
        case .refuse(let answer):
            return refuse(answer)
        case .accept(let handler):
            stage = .admitted(handler, subprotocol: subprotocol)
            return 0
        }
    }

    /// Reactor thread.
    var certificate: PeerCertificate? { wsi.flatMap(certificate(of:)) }

    private func certificate(of wsi: OpaquePointer) -> PeerCertificate? {
        guard let material = listener.material, material.asksForCertificates, let ssl = lws_get_ssl(wsi) else {
            return nil
        }
        return PeerCertificate(of: ssl, trusting: material)
    }

    private func established() -> Int32 {
        guard case .admitted(let handler, let subprotocol) = stage, let wsi else { return -1 }
        // libwebsockets has chosen by itself: what the handler was told has to be true.
        guard let chosen = lws_get_protocol(wsi)?.pointee.name,
            String(cString: chosen) == subprotocol ?? EdgeListener.noSubprotocol
        else { return -1 }
        ReceiveBuffer.wasMade(for: wsi)
        deadline?.cancel()
        deadline = nil
        if let ssl = lws_get_ssl(wsi) { TLSMaterial.letGoOfHandshake(ssl) }
        let webSocket = WebSocketConnection(
            owner: self, wsi: wsi, handler: handler, peer: peer, maximumMessageBytes: limits.maximumMessageBytes)
        stage = .webSocket(webSocket)
        webSocket.opened()
        return 0
    }
}
