import CLibwebsockets
import COpenSSL
import FleetWire
import Glibc
import HTTPWire
import WebSocketWire
import WireText

/// One client socket, from accept to close: TLS, then HTTP requests one after another, then possibly a WebSocket.
///
/// libwebsockets transports its bytes in the raw role: it polls, reads, writes and performs TLS. This class and the
/// pure targets interpret the bytes. Stages only move forward, except for keep-alive, and each has a deadline. All
/// output except a 101 is written at the end of a turn, outside libwebsockets' callbacks. Reactor thread only.
final class EdgeConnection: LWSOwner, TimerTarget, Flushable {
    enum Stage {
        case handshakingTLS
        /// Another gateway of the fleet has yet to say whose request follows.
        case prefacing(RelayPrefaceParser)
        /// The parser in `http` holds the state of the request.
        case reading
        case answering(HTTPExchange)
        /// The gate has not decided yet.
        case upgrading(UpgradeExchange)
        /// The response is in `output`.
        case writing(endsConnection: Bool)
        case webSocket(WebSocketConnection)
        case ended
    }

    let peer: SocketAddress
    /// `peer` is a trusted proxy whose PROXY header contains no client address.
    let isUnnamed: Bool
    let listener: EdgeListener
    var stage = Stage.handshakingTLS
    /// What another gateway of the fleet has said about its client; nil for a client's own connection.
    var relayed: RelayPreface?
    /// Why it isn't another gateway of the fleet.
    private(set) var strangeness: GatewayRefusal?
    /// Of the request that is being read or answered, if a proxy has named it: see `RequestLimitation.serve`.
    var requestClient: IPAddress?
    /// Nil once the connection has become a WebSocket.
    var http: HTTPStage?
    /// HTTP output only: a WebSocket has its own queue.
    var output = OutputBuffer()
    var isTouched = false
    /// Nil if the current stage has no deadline.
    private var deadline: ReactorTimer?
    private var isLingering = false
    var isPaused = false
    /// Written bytes that the socket had no room for, at most one TLS record. They are sent before everything else.
    @exclusivity(unchecked) private(set) var unsent = OutputBuffer()
    /// The socket has become writable since it was last full.
    private var isWritable = false
    private var hasEndedTimeout = false
    private var isHandshakeLate = false
    private var handshake = HandshakeProgress.adopting

    /// The state of the TLS handshake, as `HandshakeQueue` needs it.
    private enum HandshakeProgress {
        /// Inside `adopt`: libwebsockets tries to read before the socket is known to be readable.
        case adopting
        case idle(hasBegun: Bool)
        /// Has input and waits for the reactor to have time. While reading is paused (`isPaused`), the socket isn't
        /// polled.
        case waiting(hasBegun: Bool, isPaused: Bool)
        /// Being read now.
        ///
        /// - Parameter mayCompute: costly computations are allowed too.
        case reading(mayCompute: Bool)
        case ended
    }

    var limits: EdgeLimits { listener.settings.limits }
    var isTLS: Bool { listener.settings.tls != nil }

    init(listener: EdgeListener, peer: SocketAddress, isUnnamed: Bool) {
        self.listener = listener
        self.peer = peer
        self.isUnnamed = isUnnamed
        super.init(reactor: listener.reactor)
        http = HTTPStage(limits: listener.settings.requestLimits)
    }

    // MARK: From accept to close

    /// Hands the socket to libwebsockets, which closes it, even if this call fails.
    func adopt(_ socket: Int32, into vhost: OpaquePointer) {
        listener.beganHTTP()
        let opaque = Unmanaged.passRetained(self as LWSOwner)  // Released by the trampoline at WSI_DESTROY.
        if !isTLS { stage = .reading }
        arm(isTLS ? limits.tlsHandshakeMilliseconds : limits.headerMilliseconds)
        reactor.hasCreatedWSI = false
        let wsi = listener.withAdopted(self) {
            portcullis_lws_adopt_socket(vhost, socket, isTLS ? 1 : 0, EdgeListener.protocolText, opaque.toOpaque())
        }
        if case .adopting = handshake { handshake = .idle(hasBegun: false) }
        if wsi == nil, !reactor.hasCreatedWSI {
            // No room for another connection: libwebsockets has closed the socket, and WSI_DESTROY will not be called.
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
        noteFailedHandshake()
        if case .webSocket(let webSocket) = stage { webSocket.ended() }
        if case .answering(let exchange) = stage { exchange.connection = nil }
        if case .upgrading(let exchange) = stage { exchange.clientGone() }
        stage = .ended
        endHTTP()
        output.release(to: reactor.buffers)
        unsent.release(to: reactor.buffers)
        return 0
    }

    /// A handshake that the gateway has ended itself, because too many wait, is counted as a refused connection.
    private func noteFailedHandshake() {
        guard case .handshakingTLS = stage else { return }
        if case .ended = handshake { return }
        listener.handler.handshakeEnded(isHandshakeLate ? .timedOut : .failed)
    }

    /// From here on it is a WebSocket, or nothing.
    func endHTTP() {
        guard http != nil else { return }
        http = nil
        listener.endedHTTP(self)
    }

    private func destroyed() -> Int32 {
        _ = ended()
        if case .waiting = handshake { listener.handshakes.remove(self) }
        handshake = .ended
        if !isLingering { listener.census.leave(peer) }
        listener.handler.connectionClosed()
        return 0
    }

    /// Ends the connection so that the client can still read the last output. Never call it inside a callback.
    func finish() {
        guard let wsi, !isLingering else { return }
        if let ssl = lws_get_ssl(wsi) { SSL_shutdown(ssl) }  // close_notify (RFC 8446 §6.1).
        let (census, peer) = (listener.census, peer)
        let linger = LingeringClose(duplicating: lws_get_socket_fd(wsi), on: reactor) { census.leave(peer) }
        isLingering = linger != nil
        linger?.begin()
        // `kill` would shut the socket down before the linger has sent its data.
        lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC)
    }

    // MARK: Deadlines

    func arm(_ milliseconds: Int) { arm(at: reactor.now + UInt64(milliseconds) * 1_000_000) }

    /// - Parameter time: monotonic nanoseconds; nil cancels the deadline.
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
        case .handshakingTLS:
            isHandshakeLate = true
            kill()
        case .webSocket(let webSocket): webSocket.timePassed(now: now)
        case .reading where http?.parser.hasBegun == true: refuse(fault: .timedOut)
        case .prefacing(let parser):
            refuseGateway(.late(hasBegun: parser.hasBegun))
            kill()
        case .upgrading(let exchange):
            exchange.clientGone()
            refuse(fault: .undecided)
        default: kill()
        }
    }

    // MARK: The TLS handshake

    /// Called by `HandshakeGate`, inside OpenSSL. Returns whether OpenSSL may read the socket now; if not, the
    /// connection waits for its turn.
    func mayReadHandshake() -> Bool {
        switch handshake {
        case .reading(let mayCompute):
            // A second flight may have arrived with the first.
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

    /// The first flight has been read.
    var hasBegunHandshake: Bool {
        if case .waiting(let hasBegun, _) = handshake { hasBegun } else { false }
    }

    /// Whether the next flight is costly, once the first has been read. Also true if the first flight is incomplete,
    /// because the key exchange is still to be computed.
    var isHandshakeCostly: Bool {
        guard let ssl = wsi.flatMap(lws_get_ssl) else { return false }
        return !CostlyFlight.hasAnswered(on: ssl) || CostlyFlight.isNext(on: ssl)
    }

    /// Called by `HandshakeQueue`: lets libwebsockets read once, outside its callbacks.
    func continueHandshake() {
        guard case .waiting(let hasBegun, let isPaused) = handshake, let wsi else { return }
        handshake = .reading(mayCompute: hasBegun && isHandshakeCostly)
        if isPaused { lws_rx_flow_control(wsi, 1) }
        ReadAhead.serve(wsi)
        if case .reading = handshake { handshake = .idle(hasBegun: true) }
    }

    /// Without a pause the readable socket would wake every turn of the loop for nothing.
    func pauseHandshake() {
        guard case .waiting(let hasBegun, false) = handshake, let wsi else { return }
        handshake = .waiting(hasBegun: hasBegun, isPaused: true)
        lws_rx_flow_control(wsi, 0)
    }

    /// Called by `HandshakeQueue` after it has removed the connection.
    func endWaitingHandshake() {
        handshake = .ended
        kill()
    }

    /// Called by `HandshakeGate`, inside OpenSSL.
    func handshakeEnded() {
        handshake = .ended
        listener.handshakes.succeeded(peer)
        guard case .handshakingTLS = stage else { return }
        listener.handler.handshakeEnded(.completed)
        arm(limits.headerMilliseconds)
        guard let gateways = listener.gateways else { return stage = .reading }
        stage = .prefacing(RelayPrefaceParser())
        strangeness = gateways.refusal(ofPeer: wsi.flatMap(lws_get_ssl), trusting: listener.material)
        guard let strangeness else { return }
        refuseGateway(strangeness)
        reactor.touch(self)  // It ends at the end of the turn: not inside OpenSSL.
    }

    /// The client's. Reactor thread.
    var certificate: PeerCertificate? {
        // Another gateway's own isn't its client's.
        guard relayed == nil, let material = listener.material, material.asksForCertificates,
            let ssl = wsi.flatMap(lws_get_ssl)
        else { return nil }
        return PeerCertificate(of: ssl, trusting: material)
    }

    /// `POLLRDHUP` of poll(2), which Swift's Glibc lacks.
    private static let pollPeerEnded: Int16 = 0x2000

    /// Whether the client has closed or reset TCP. The kernel is asked, because libwebsockets reports it only after all
    /// earlier input has been read, and never while reading is paused.
    var hasClientGone: Bool {
        guard let wsi else { return true }
        var socket = pollfd(fd: lws_get_socket_fd(wsi), events: Self.pollPeerEnded, revents: 0)
        return poll(&socket, 1, 0) != 0
    }

    // MARK: Input and output

    /// Called inside a callback; `input` is the callback's memory.
    private func received(_ input: UnsafeMutableRawBufferPointer) -> Int32 {
        endLibwebsocketsTimeout()
        switch stage {
        case .prefacing(let parser): return readPreface(input, parser)
        case .reading: read(input)
        case .answering, .upgrading, .writing:
            guard http?.keep(UnsafeRawBufferPointer(input)) == true else { return -1 }
            reactor.touch(self)
        case .webSocket(let webSocket): webSocket.received(input)
        case .handshakingTLS, .ended: break
        }
        return 0
    }

    /// After the handshake libwebsockets waits for the connection to be marked established, which never happens in its
    /// raw role. The gateway's own deadlines apply instead.
    private func endLibwebsocketsTimeout() {
        guard !hasEndedTimeout, let wsi else { return }
        hasEndedTimeout = true
        lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0)
    }

    /// At the end of a turn.
    func flush() {
        guard let wsi else { return }
        if case .webSocket(let webSocket) = stage { return webSocket.flush() }
        if strangeness != nil { return kill() }
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

    /// Written bytes that wait here for room in the socket.
    var unsentBytes: Int { unsent.count }

    /// Writes the bytes, or keeps them in `unsent`.
    ///
    /// - Returns: false if the connection is broken.
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

    /// - Returns: false if the connection is broken.
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

    /// Resumes reading that was paused while the upgrade was undecided.
    func resume(_ wsi: OpaquePointer) {
        guard isPaused else { return }
        isPaused = false
        lws_rx_flow_control(wsi, 1)
        lws_cancel_service(lws_get_context(wsi))
    }

    /// TCP flow control slows down a client that keeps sending while its request is being answered. Never call it
    /// inside a callback.
    private func applyPause(to wsi: OpaquePointer) {
        let pauses = http?.isFull ?? false
        guard pauses != isPaused else { return }
        isPaused = pauses
        lws_rx_flow_control(wsi, pauses ? 0 : 1)
        if !pauses { lws_cancel_service(lws_get_context(wsi)) }
    }
}

private func void(_ result: Int32) {}
