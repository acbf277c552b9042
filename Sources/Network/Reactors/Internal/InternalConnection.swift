import Glibc
import HTTPWire
import WireText

/// One connection of the internal listener: requests one after the other, each answered before the next is read.
/// Reactor thread only.
final class InternalConnection: TCPHandler, TimerTarget, HTTPDriver {
    private enum Stage {
        /// The TLS handshake.
        case securing
        case reading
        case answering(InternalExchange)
        /// The last response is queued.
        case ending
    }

    /// The limit for a TLS handshake.
    private static let handshakeNanoseconds: UInt64 = 5_000_000_000
    /// The limit for receiving a request, for deciding its response, and for sending it, each separately.
    private static let stepNanoseconds: UInt64 = 10_000_000_000
    /// Between a response and the next request. Longer than the keep-alive of nginx (60 s) and Caddy (120 s): they
    /// close first, so none of their requests meets a connection that is being closed.
    private static let idleNanoseconds: UInt64 = 180_000_000_000

    private let place: InternalPlace
    private let reactor: Reactor
    private let peer: SocketAddress?
    private let closed: () -> Void
    private var connection: (any InternalTransport)?
    private(set) var isTLS = false
    private var peerHasFinished = false
    var http: HTTPStage?
    /// Of the request that is being read.
    private var bodyReader: (any InternalBodyReader)?
    private var stage = Stage.reading
    private lazy var timer = ReactorTimer(on: reactor)

    /// The maximum size of responses waiting for a peer that doesn't read; above it the connection is dropped.
    private static let maximumQueuedBytes = 262_144

    /// The proxy repeats its client's header fields, and adds some.
    private var limits: RequestLimits {
        var limits = RequestLimits()
        limits.maximumBodyBytes = handler.maximumBodyBytes
        limits.maximumHeaderBytes = 65_536
        limits.maximumFieldBytes = 16_384
        limits.maximumRequestLineBytes = 16_384
        limits.maximumFields = 200
        return limits
    }

    private var handler: any InternalHandler { place.handler }

    /// - Parameters:
    ///   - peer: nil for a Unix socket.
    ///   - closed: called once, at the end.
    init(of peer: SocketAddress?, at place: InternalPlace, on reactor: Reactor, closed: @escaping () -> Void) {
        self.peer = peer
        self.place = place
        self.reactor = reactor
        self.closed = closed
        http = HTTPStage(limits: limits)
    }

    func serve(_ socket: Int32, _ tls: InternalTLS?) {
        guard let tls else {
            connection = TCPConnection.adopt(socket, on: reactor, handler: self)
            return arm(Self.stepNanoseconds)
        }
        isTLS = true
        stage = .securing
        arm(Self.handshakeNanoseconds)
        let secured = SecuredConnection(socket, tls, on: reactor, handler: self)
        if case .securing = stage { connection = secured }
    }

    var isCertified: Bool { connection?.isCertified ?? false }

    /// The TLS handshake is done.
    func tcpConnected() {
        guard case .securing = stage else { return }
        stage = .reading
        arm(Self.stepNanoseconds)
        guard !handler.mayConnect(isCertified: isCertified) else { return }
        stage = .ending
        drop()
        handler.connectionRefused(.noCertificate, of: peer, detail: nil)
    }

    func tcpReceived(_ bytes: UnsafeRawBufferPointer) {
        switch stage {
        case .securing: break
        case .reading: read(bytes)
        case .answering:
            guard http?.keep(bytes) == true else { return drop() }
            if http?.isFull == true { connection?.setReading(paused: true) }
        case .ending: break
        }
    }

    private func read(_ input: UnsafeRawBufferPointer) {
        let rest = UnsafeRawBufferPointer(rebasing: input[parseRequests(input)...])
        guard case .answering = stage, !rest.isEmpty else { return }
        if http?.keep(rest) != true { drop() }
    }

    var readsRequests: Bool {
        if connection != nil, case .reading = stage { true } else { false }
    }

    func requestBegan() { arm(Self.stepNanoseconds) }

    func took(_ head: RequestHead) {
        bodyReader = handler.bodyReader(for: head, isCertified: isCertified)
        queueContinue(for: head)
    }

    func took(body: UnsafeRawBufferPointer) { bodyReader?.read(body) }

    func tookRequest() {
        guard let head = http?.takeRequest()?.head else { return }
        let exchange = InternalExchange(head: head, bodyReader: bodyReader, reactor: reactor, connection: self)
        bodyReader = nil
        stage = .answering(exchange)
        arm(Self.stepNanoseconds)
        handler.handle(exchange)
    }

    func took(_ fault: RequestFault) {
        let writer = ResponseWriter(isHead: http?.parser.isHead ?? false, closesConnection: true)
        _ = send(handler.answer(to: fault), writer)
    }

    func queue(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { connection?.send($0) }
    }

    /// Called by the exchange.
    func respond(_ answer: HTTPAnswer) {
        guard case .answering = stage, let head = http?.head, connection != nil else { return }
        guard send(answer, ResponseWriter(for: head)) else { return }
        stage = .reading
        let kept = http?.next(limits: limits) ?? []
        arm(Self.idleNanoseconds)
        connection?.setReading(paused: false)
        kept.withUnsafeBytes { if !$0.isEmpty { read($0) } }
    }

    /// - Returns: whether another request may follow.
    private func send(_ answer: HTTPAnswer, _ writer: ResponseWriter) -> Bool {
        var writer = writer
        queue(answer, &writer, strictTransport: nil)
        guard let connection, connection.queuedBytes <= Self.maximumQueuedBytes else {
            drop()
            return false
        }
        guard writer.closesConnection || answer.closesConnection || peerHasFinished else { return true }
        stage = .ending
        arm(Self.stepNanoseconds)
        connection.finish()
        return false
    }

    private func arm(_ nanoseconds: UInt64) { timer.arm(at: reactor.now + nanoseconds, calling: self) }

    func drop() { connection?.drop() }

    /// A request in progress is still answered: a client may close its sending side after the request.
    func tcpPeerFinished() {
        peerHasFinished = true
        guard case .reading = stage else { return }
        stage = .ending
        arm(Self.stepNanoseconds)
        connection?.finish()
    }

    func tcpWrote() {}

    func tcpClosed(error: TCPError?) {
        timer.cancel()
        if case .answering(let exchange) = stage { exchange.abandon() }
        if case .securing = stage { handler.connectionRefused(.handshakeFailed, of: peer, detail: error?.description) }
        stage = .ending
        connection = nil
        closed()
    }

    func timerFired(now: UInt64) {
        if case .securing = stage {
            stage = .ending
            handler.connectionRefused(.handshakeTimedOut, of: peer, detail: nil)
        }
        drop()
    }
}

package func closeSocket(_ socket: Int32) { close(socket) }
