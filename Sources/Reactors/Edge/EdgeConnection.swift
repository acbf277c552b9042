import CLibwebsockets
import COpenSSL
import Glibc
import HTTPWire
import WebSocketWire

/// One socket of the outside, from accept to close: TLS, then requests one after another, then perhaps a WebSocket.
///
/// libwebsockets carries its bytes, in the raw role: it polls, reads, writes and does TLS. What the bytes mean is decided here and in the
/// pure targets. The stages only go forward but for keep-alive, and each has its deadline. All but a 101 is written at the end of a turn
/// of the loop, outside of libwebsockets' callbacks. Reactor thread only.
final class EdgeConnection: LWSOwner, TimerTarget, Flushable {
    enum Stage {
        case handshakingTLS
        /// The parser of `http` knows how far the request has come.
        case reading
        case answering(HTTPExchange)
        /// The gate hasn't decided yet.
        case upgrading(UpgradeExchange)
        /// The answer is in `output`.
        case writing(endsConnection: Bool)
        case webSocket(WebSocketConnection)
        case ended
    }

    let peer: PeerAddress
    /// `peer` is a trusted proxy whose PROXY header names nobody.
    let isUnnamed: Bool
    let listener: EdgeListener
    var stage = Stage.handshakingTLS
    /// Nil once the connection is a WebSocket.
    var http: HTTPStage?
    /// Of HTTP: a WebSocket has its own.
    var output = OutputBuffer()
    var isTouched = false
    /// Nil where no stage is left that has one.
    private var deadline: ReactorTimer?
    private var isLingering = false
    var isPaused = false
    /// What was written and the socket had no room for, at most one TLS record: it goes before everything else.
    @exclusivity(unchecked) private(set) var unsent = OutputBuffer()
    /// The socket has said so since it had no room.
    private var isWritable = false
    private var hasEndedTimeout = false
    private var handshake = HandshakeProgress.adopting

    /// Where the TLS handshake is, as `HandshakeQueue` needs to know it.
    private enum HandshakeProgress {
        /// Inside `adopt`: libwebsockets tries to read before the socket has said that there is anything.
        case adopting
        case idle(hasBegun: Bool)
        /// It has input, and waits for the reactor to have time. While it isn't read (`isPaused`) nobody polls it.
        case waiting(hasBegun: Bool, isPaused: Bool)
        /// Being read now.
        ///
        /// - Parameter mayCompute: also what is costly.
        case reading(mayCompute: Bool)
        case ended
    }

    var limits: EdgeLimits { listener.settings.limits }
    var isTLS: Bool { listener.settings.tls != nil }

    init(listener: EdgeListener, peer: PeerAddress, isUnnamed: Bool) {
        self.listener = listener
        self.peer = peer
        self.isUnnamed = isUnnamed
        super.init(reactor: listener.reactor)
        http = HTTPStage(limits: listener.settings.requestLimits)
    }

    // MARK: From accept to close

    /// Hands the socket to libwebsockets, which closes it, also when this fails.
    func adopt(_ socket: Int32, into vhost: OpaquePointer) {
        let opaque = Unmanaged.passRetained(self as LWSOwner)  // Released by the trampoline at WSI_DESTROY.
        if !isTLS { stage = .reading }
        arm(isTLS ? limits.tlsHandshakeMilliseconds : limits.headerMilliseconds)
        reactor.hasCreatedWSI = false
        let wsi = listener.withAdopted(self) {
            portcullis_lws_adopt_socket(vhost, socket, isTLS ? 1 : 0, EdgeListener.protocolText, opaque.toOpaque())
        }
        if case .adopting = handshake { handshake = .idle(hasBegun: false) }
        if wsi == nil, !reactor.hasCreatedWSI {
            // No room for another connection: libwebsockets has closed the socket, and no WSI_DESTROY will come.
            _ = destroyed()
            opaque.release()
        }
    }

    override func callback(_ reason: lws_callback_reasons, _ input: UnsafeMutableRawBufferPointer) -> Int32 {
        switch reason {
        case LWS_CALLBACK_RAW_RX: return received(input)
        case LWS_CALLBACK_RAW_WRITEABLE:
            isWritable = true
            reactor.touch(self)
            return 0
        case LWS_CALLBACK_RAW_CLOSE: return ended()
        case LWS_CALLBACK_WSI_DESTROY: return destroyed()
        default: return 0
        }
    }

    private func ended() -> Int32 {
        deadline?.cancel()
        if case .webSocket(let webSocket) = stage { webSocket.ended() }
        if case .answering(let exchange) = stage { exchange.connection = nil }
        if case .upgrading(let exchange) = stage { exchange.connection = nil }
        stage = .ended
        http = nil
        output.release(to: reactor.buffers)
        unsent.release(to: reactor.buffers)
        return 0
    }

    private func destroyed() -> Int32 {
        _ = ended()
        if case .waiting = handshake { listener.handshakes.remove(self) }
        handshake = .ended
        if !isLingering { listener.census.leave(peer) }
        listener.handler.connectionClosed()
        return 0
    }

    /// Ends the connection in such a way that the client can read what was written last. Not inside a callback.
    func finish() {
        guard let wsi, !isLingering else { return }
        if let ssl = lws_get_ssl(wsi) { SSL_shutdown(ssl) }  // close_notify (RFC 8446 §6.1).
        let (census, peer) = (listener.census, peer)
        let linger = LingeringClose(duplicating: lws_get_socket_fd(wsi), on: reactor) { census.leave(peer) }
        isLingering = linger != nil
        linger?.begin()
        // Not `kill`, which would shut down what the linger still has to send.
        lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC)
    }

    // MARK: Deadlines

    func arm(_ milliseconds: Int) { arm(at: reactor.now + UInt64(milliseconds) * 1_000_000) }

    /// - Parameter time: monotonic nanoseconds; nil is none.
    func arm(at time: UInt64?) {
        guard let time else {
            deadline?.cancel()
            return deadline = nil
        }
        let deadline = deadline ?? ReactorTimer(on: reactor)
        self.deadline = deadline
        deadline.arm(at: time, calling: self)
    }

    func timerFired(now: UInt64) {
        switch stage {
        case .webSocket(let webSocket): webSocket.timePassed(now: now)
        case .reading where http?.parser.hasBegun == true: refuse(fault: .timedOut)
        case .upgrading(let exchange):
            exchange.connection = nil
            refuse(fault: .undecided)
        default: kill()
        }
    }

    // MARK: The TLS handshake

    /// From `HandshakeGate`, inside OpenSSL: whether it may read the socket now. Otherwise the connection waits for its turn.
    func mayReadHandshake() -> Bool {
        switch handshake {
        case .reading(let mayCompute):
            // A second flight may have come with the first.
            guard !mayCompute, wsi.flatMap(lws_get_ssl).map(CostlyFlight.isNext) == true else { return true }
            handshake = .waiting(hasBegun: true, isPaused: false)
            listener.handshakes.append(self)
            return false
        case .idle(let hasBegun):
            handshake = .waiting(hasBegun: hasBegun, isPaused: false)
            listener.handshakes.append(self)
            return false
        case .adopting, .waiting, .ended: return false
        }
    }

    /// Its first flight was read.
    var hasBegunHandshake: Bool {
        if case .waiting(let hasBegun, _) = handshake { hasBegun } else { false }
    }

    /// Of its next flight, once the first was read: also where not all of it had come, so that the key exchange is still to be computed.
    var isHandshakeCostly: Bool {
        guard let ssl = wsi.flatMap(lws_get_ssl) else { return false }
        return !CostlyFlight.hasAnswered(on: ssl) || CostlyFlight.isNext(on: ssl)
    }

    /// From `HandshakeQueue`: lets libwebsockets read, once, outside of its callbacks.
    func continueHandshake() {
        guard case .waiting(let hasBegun, let isPaused) = handshake, let wsi else { return }
        handshake = .reading(mayCompute: hasBegun && isHandshakeCostly)
        if isPaused { lws_rx_flow_control(wsi, 1) }
        ReadAhead.serve(wsi)
        if case .reading = handshake { handshake = .idle(hasBegun: true) }
    }

    /// Its socket would wake each turn of the loop for nothing.
    func pauseHandshake() {
        guard case .waiting(let hasBegun, false) = handshake, let wsi else { return }
        handshake = .waiting(hasBegun: hasBegun, isPaused: true)
        lws_rx_flow_control(wsi, 0)
    }

    /// From `HandshakeQueue`, which has let go of it.
    func endWaitingHandshake() {
        handshake = .ended
        kill()
    }

    /// From `HandshakeGate`, inside OpenSSL.
    func handshakeEnded() {
        handshake = .ended
        listener.handshakes.succeeded(peer)
        guard case .handshakingTLS = stage else { return }
        stage = .reading
        arm(limits.headerMilliseconds)
    }

    /// Reactor thread.
    var certificate: PeerCertificate? {
        guard let material = listener.material, material.asksForCertificates, let ssl = wsi.flatMap(lws_get_ssl) else {
            return nil
        }
        return PeerCertificate(of: ssl, trusting: material)
    }

    /// `POLLRDHUP` of poll(2), which Swift's Glibc lacks.
    private static let pollPeerEnded: Int16 = 0x2000

    /// Whether the client has ended or reset TCP. The kernel is asked: libwebsockets says it only after what came before is read, and not at
    /// all while reading is paused.
    var hasClientGone: Bool {
        guard let wsi else { return true }
        var socket = pollfd(fd: lws_get_socket_fd(wsi), events: Self.pollPeerEnded, revents: 0)
        return poll(&socket, 1, 0) != 0
    }

    // MARK: Input and output

    /// Inside a callback, whose memory `input` is.
    private func received(_ input: UnsafeMutableRawBufferPointer) -> Int32 {
        endLibwebsocketsTimeout()
        switch stage {
        case .reading: read(input)
        case .answering, .upgrading, .writing:
            guard http?.keep(UnsafeRawBufferPointer(input)) == true else { return -1 }
            reactor.touch(self)
        case .webSocket(let webSocket): webSocket.received(input)
        case .handshakingTLS, .ended: break
        }
        return 0
    }

    /// After the handshake libwebsockets waits for the connection to be established, which its raw role never calls it. The deadlines here are
    /// the gateway's own.
    private func endLibwebsocketsTimeout() {
        guard !hasEndedTimeout, let wsi else { return }
        hasEndedTimeout = true
        lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0)
    }

    /// At the end of a turn.
    func flush() {
        guard let wsi else { return }
        if case .webSocket(let webSocket) = stage { return webSocket.flush() }
        applyPause(to: wsi)
        guard writeUnsent(to: wsi) else { return kill() }
        while !output.isEmpty, mayWrite(to: wsi) {
            let piece = output.front(limit: WebSocketConnection.maximumFrameBytes)
            guard write(piece, to: wsi) else { return kill() }
            output.removeFirst(piece.count, to: reactor.buffers)
        }
        guard output.isEmpty, unsent.isEmpty else { return void(lws_callback_on_writable(wsi)) }
        if case .writing(let endsConnection) = stage {
            endsConnection ? finish() : awaitNextRequest()
        }
    }

    /// Whether `write` may be called.
    func mayWrite(to wsi: OpaquePointer) -> Bool { unsent.isEmpty && EdgeOutput.mayWrite(to: wsi) }

    /// Bytes that were written, and wait here for the socket to have room.
    var unsentBytes: Int { unsent.count }

    /// Writes a piece, or keeps it.
    ///
    /// - Returns: false when the connection is broken.
    func write(_ bytes: UnsafeMutableRawBufferPointer, to wsi: OpaquePointer) -> Bool {
        switch EdgeOutput.write(bytes, to: wsi) {
        case .written: return true
        case .full(let count):
            isWritable = false
            unsent.append(UnsafeRawBufferPointer(rebasing: bytes.suffix(count)), from: reactor.buffers)
            return true
        case .broken: return false
        }
    }

    /// - Returns: false when the connection is broken.
    func writeUnsent(to wsi: OpaquePointer) -> Bool {
        guard isWritable, !unsent.isEmpty else { return true }
        isWritable = false
        switch EdgeOutput.write(unsent.front(limit: unsent.count), to: wsi) {
        case .written: unsent.release(to: reactor.buffers)
        case .full(let count): unsent.removeFirst(unsent.count - count, to: reactor.buffers)
        case .broken: return false
        }
        return true
    }

    /// What was paused for the upgrade's decision goes on.
    func resume(_ wsi: OpaquePointer) {
        guard isPaused else { return }
        isPaused = false
        lws_rx_flow_control(wsi, 1)
        lws_cancel_service(lws_get_context(wsi))
    }

    /// A client that sends on while its request is being answered is slowed down by TCP. Never inside a callback.
    private func applyPause(to wsi: OpaquePointer) {
        let pauses = http?.isFull ?? false
        guard pauses != isPaused else { return }
        isPaused = pauses
        lws_rx_flow_control(wsi, pauses ? 0 : 1)
        if !pauses { lws_cancel_service(lws_get_context(wsi)) }
    }
}

private func void(_ result: Int32) {}
