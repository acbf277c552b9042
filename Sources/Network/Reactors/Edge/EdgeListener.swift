import CLibuv
import CLibwebsockets
import Compression
import Glibc
import HTTPWire
import Logging
import WebSocketWire
package import WireText

/// Time and size limits on what a client can make the edge hold.
package struct EdgeLimits: Sendable {
    /// From accept, or from the end of a proxy's PROXY header, to the end of the TLS handshake.
    package var tlsHandshakeMilliseconds = 10_000
    /// From there, or from the end of an idle wait, to the last header. A proxy's PROXY header has the same time, from
    /// accept on.
    package var headerMilliseconds = 10_000
    /// From the headers to the last byte of the body.
    package var bodyMilliseconds = 10_000
    /// From the response to the moment when the socket has taken all of it and is writable again.
    package var answerMilliseconds = 10_000
    /// Between a response and the first byte of the next request.
    package var keepAliveSeconds = 75
    /// From the upgrade request to its decision.
    package var upgradeMilliseconds = 10_000
    /// All header fields of a request together.
    package var maximumHeaderBytes = 16_384
    package var maximumBodyBytes = 65_536
    package var maximumMessageBytes = 65_536

    package init() {}
}

package struct EdgeSettings: Sendable {
    /// Nil: plain HTTP.
    package var tls: TLSSettings?
    /// Supported subprotocol names (RFC 6455 §1.9).
    package var subprotocols: [String]
    package var limits: EdgeLimits
    /// The value of `Strict-Transport-Security` over TLS (`HSTS_MAX_AGE_SECONDS`).
    package var strictTransport = "max-age=31536000"
    /// Nil: no WebSocket is compressed.
    package var compression: EdgeCompression?
    /// Trusted proxies, which must send a PROXY header before TLS. A PROXY header from any other peer is treated as TLS
    /// input.
    package var trustsProxy: @Sendable (SocketAddress) -> Bool = { _ in false }

    package init(tls: TLSSettings?, subprotocols: [String], limits: EdgeLimits) {
        self.tls = tls
        self.subprotocols = subprotocols
        self.limits = limits
    }
}

extension EdgeSettings {
    var requestLimits: RequestLimits {
        var requests = RequestLimits()
        requests.maximumHeaderBytes = limits.maximumHeaderBytes
        requests.maximumFieldBytes = limits.maximumHeaderBytes
        requests.maximumBodyBytes = limits.maximumBodyBytes
        return requests
    }

    /// Reads the files of `tls`; nil if TLS is off.
    package func makeMaterial() throws(ReactorError) -> TLSMaterial? {
        guard let tls else { return nil }
        do throws(TLSMaterialError) {
            return try TLSMaterial(tls)
        } catch {
            throw .vhostFailed(error.description)
        }
    }
}

/// The edge of one reactor: its listening socket and the libwebsockets vhost that serves the accepted sockets.
///
/// The vhost has only our protocol and no port: sockets are accepted here and adopted into it.
final class EdgeListener: TimerTarget {
    unowned let reactor: Reactor
    private let service: () -> EdgeService
    private let tls: EdgeTLS?
    /// Nil: it listens for clients. Otherwise only other gateways of the fleet are served, which pass their clients'
    /// upgrades on.
    let gateways: GatewayAccess?
    let census: ConnectionCensus
    private(set) lazy var handshakes = HandshakeQueue(reactor: reactor, rates: census.handshakes) { [unowned self] in
        handler.connectionRefused(.handshakeRate)
    }
    private let vhost: OpaquePointer
    /// C strings and the protocol table. libwebsockets keeps pointers to them for the life of the vhost; they are never
    /// freed before.
    private let protocols: UnsafeMutablePointer<lws_protocols>
    /// One for each address.
    private var listening: [(descriptor: Int32, poll: UnsafeMutablePointer<uv_poll_t>)] = []
    /// New connections wait in the kernel's queues: see `setAccepting`.
    private var isHeld = false
    /// Connections that are neither WebSockets nor closed.
    private(set) var connectionsInHTTP = 0
    /// Those of them that wait for another request.
    private var idle: [ObjectIdentifier: EdgeConnection] = [:]
    /// Each connection ends with its next answer: another process serves from now on.
    private(set) var isLeaving = false
    private lazy var retry = ReactorTimer(on: reactor)
    private var isExhausted = false
    private let deflaters: SharedDeflaters
    /// Sockets of trusted proxies whose PROXY header has not been read yet, by descriptor.
    private var unnamed: [Int32: ProxiedSocket] = [:]
    /// When the next proxy error may be logged: a misconfigured proxy causes one with every connection.
    private var nextProxyWarning: UInt64 = 0

    /// On the reactor's thread.
    ///
    /// - Parameter service: what is in effect; called on the reactor's thread, whenever something is needed.
    init(
        reactor: Reactor, gateways: GatewayAccess? = nil, census: ConnectionCensus, service: @escaping () -> EdgeService
    ) throws(ReactorError) {
        let settings = service().settings
        let tls = service().material.map { _ in EdgeTLS(isForGateways: gateways != nil) { service().material } }
        self.gateways = gateways
        self.reactor = reactor
        self.service = service
        deflaters = SharedDeflaters(level: settings.compression?.settings.level ?? 1)
        self.tls = tls
        self.census = census
        protocols = Self.makeProtocols()
        let problem = TLSProblem()
        let made = Self.makeVhost(on: reactor, settings: settings, tls: tls, protocols: protocols, problem: problem)
        guard let vhost = made else {
            throw .vhostFailed(problem.text ?? "certificate, key or their match: see the log lines of libwebsockets")
        }
        self.vhost = vhost
    }

    var settings: EdgeSettings { service().settings }
    var handler: any EdgeHandler { service().handler }

    /// Marks `connection` as the one whose handshake begins inside `body`.
    func withAdopted<Value>(_ connection: EdgeConnection, _ body: () -> Value) -> Value {
        tls?.adopted = connection
        defer { tls?.adopted = nil }
        return body()
    }

    /// The compression for an upgrade's WebSocket; nil if no offer is acceptable or there is no memory.
    func compression(to offers: [WebSocketExtension], _ limits: MessageLimits) -> MessageCompression? {
        guard let compression = settings.compression, !offers.isEmpty,
            let memoryShare = compression.memory.agree(to: offers, settings: compression.settings)
        else { return nil }
        return MessageCompression(
            memoryShare, sharing: deflaters, minimumBytes: compression.settings.minimumBytes, limits: limits)
    }

    /// Nil without TLS.
    var material: TLSMaterial? { tls?.material }

    // MARK: Accepting

    /// Takes ownership of the socket and starts accepting.
    func listen(on descriptor: Int32) {
        let poll = allocateHandle(uv_poll_t.self)
        checkUV(uv_poll_init(reactor.loop, poll, descriptor), "uv_poll_init")
        // Unretained: closeListening closes the handle before this object goes.
        poll.pointee.data = Unmanaged.passUnretained(self).toOpaque()
        listening.append((descriptor, poll))
        beginAccepting()
    }

    /// Without accepting, new connections wait in the kernel's queues. Another process that has the same sockets may
    /// accept them.
    func setAccepting(_ accepts: Bool) {
        isHeld = !accepts
        guard isHeld else { return beginAccepting() }
        for socket in listening { uv_poll_stop(socket.poll) }
    }

    private func beginAccepting() {
        guard !isHeld else { return }
        for socket in listening {
            uv_poll_start(socket.poll, Int32(UV_READABLE.rawValue)) { handle, _, _ in
                Unmanaged<EdgeListener>.fromOpaque(handle!.pointee.data).takeUnretainedValue().acceptWaiting(handle!)
            }
        }
    }

    // MARK: Leaving

    /// Ends connections that only wait, and each other one with its answer; or takes that back.
    func setLeaving(_ isLeaving: Bool) {
        self.isLeaving = isLeaving
        guard isLeaving else { return }
        let waiting = idle.values
        idle = [:]
        for connection in waiting { connection.finish() }
    }

    /// Also those of proxies that haven't said whose they are.
    var connectionsUnderWay: Int { connectionsInHTTP + unnamed.count }

    func beganHTTP() { connectionsInHTTP += 1 }

    func endedHTTP(_ connection: EdgeConnection) {
        connectionsInHTTP -= 1
        isNotIdle(connection)
    }

    func isIdle(_ connection: EdgeConnection) {
        // Outside libwebsockets' callbacks: the answer has just been written.
        guard !isLeaving else { return connection.finish() }
        idle[ObjectIdentifier(connection)] = connection
    }

    func isNotIdle(_ connection: EdgeConnection) {
        if !idle.isEmpty { idle[ObjectIdentifier(connection)] = nil }
    }

    func closeListening() {
        for (descriptor, poll) in listening {
            uv_poll_stop(poll)
            closeHandle(poll)
            close(descriptor)
        }
        listening = []
        for (socket, waiting) in unnamed {
            waiting.cancel()
            dropUnnamed(socket)
        }
    }

    private func acceptWaiting(_ poll: UnsafeMutablePointer<uv_poll_t>) {
        guard let descriptor = listening.first(where: { $0.poll == poll })?.descriptor else { return }
        let outcome = acceptConnections(on: descriptor) { socket, peer in
            let isProxied = settings.trustsProxy(peer)
            if let refusal = isProxied ? census.enterUnnamed() : census.enter(peer) {
                close(socket)
                return handler.connectionRefused(refusal)
            }
            isProxied ? awaitHeader(on: socket, from: peer) : open(socket, of: peer, isUnnamed: false)
        }
        if case .exhausted(let reason) = outcome { pauseAccepting(reason) } else { isExhausted = false }
    }

    private func open(_ socket: Int32, of peer: SocketAddress, isUnnamed: Bool) {
        guard tls == nil || handshakes.admits(peer) else {
            census.leave(peer)
            close(socket)
            return handler.connectionRefused(.handshakeRate)
        }
        handler.connectionOpened()
        EdgeConnection(listener: self, peer: peer, isUnnamed: isUnnamed).adopt(socket, into: vhost)
    }

    // MARK: Proxies

    private func awaitHeader(on socket: Int32, from proxy: SocketAddress) {
        // libwebsockets does this too, but later.
        _ = fcntl(socket, F_SETFL, O_NONBLOCK)
        unnamed[socket] = ProxiedSocket(
            socket, milliseconds: settings.limits.headerMilliseconds, on: reactor
        ) { [unowned self] outcome in headerEnded(outcome, on: socket, from: proxy) }
    }

    private func headerEnded(_ outcome: ProxiedSocket.Outcome, on socket: Int32, from proxy: SocketAddress) {
        switch outcome {
        case .client(let client): name(socket, client ?? proxy, isUnnamed: client == nil)
        case .refused(let reason):
            dropUnnamed(socket)
            warn(of: proxy, reason)
        case .silent: dropUnnamed(socket)
        }
    }

    private func name(_ socket: Int32, _ client: SocketAddress, isUnnamed: Bool) {
        unnamed[socket] = nil
        guard let refusal = census.name(client) else { return open(socket, of: client, isUnnamed: isUnnamed) }
        close(socket)
        handler.connectionRefused(refusal)
    }

    private func dropUnnamed(_ socket: Int32) {
        unnamed[socket] = nil
        census.leaveUnnamed()
        close(socket)
    }

    private func warn(of proxy: SocketAddress, _ reason: String) {
        guard reactor.now >= nextProxyWarning else { return }
        nextProxyWarning = reactor.now + 1_000_000_000
        reactor.logger.warning(
            "a trusted proxy sent no PROXY header", metadata: ["peer": "\(proxy.address.text)", "error": "\(reason)"])
    }

    // MARK: Without descriptors

    /// Without a pause the poll would fire again at once until a descriptor becomes free. Established connections go
    /// on.
    private func pauseAccepting(_ reason: String) {
        guard !listening.isEmpty else { return }
        for socket in listening { uv_poll_stop(socket.poll) }
        retry.arm(at: reactor.now + AcceptOutcome.retryNanoseconds, calling: self)
        guard !isExhausted else { return }
        isExhausted = true
        reactor.logger.warning("new connections wait", metadata: ["error": "\(reason)"])
    }

    func timerFired(now: UInt64) {
        beginAccepting()
    }

    // MARK: The vhost

    /// libwebsockets passes the SSL_CTX from inside `lws_create_vhost`; an error there is kept until that call returns.
    private final class TLSProblem {
        var text: String?
    }

    private static func makeVhost(
        on reactor: Reactor, settings: EdgeSettings, tls: EdgeTLS?, protocols: UnsafeMutablePointer<lws_protocols>,
        problem: TLSProblem
    ) -> OpaquePointer? {
        guard let context = reactor.context else { return nil }
        var info = lws_context_creation_info()
        // All zero turns libwebsockets' validity pings off; the session has its own timer.
        var noIdlePolicy = lws_retry_bo_t()
        return withUnsafePointer(to: &noIdlePolicy) { policy in
            info.port = CONTEXT_PORT_NO_LISTEN_SERVER
            info.protocols = UnsafePointer(protocols)
            info.retry_and_idle_policy = Self.keep(policy)
            info.timeout_secs = reactor.backstopSeconds
            info.options = PORTCULLIS_LWS_OPTION_NO_OS_CERTIFICATES
            guard let tls else { return lws_create_vhost(context, &info) }
            let files = tls.material.settings
            info.options |= PORTCULLIS_LWS_OPTION_SSL_GLOBAL_INIT
            reactor.configureTLS = { problem.text = tls.configure($0) }
            defer { reactor.configureTLS = nil }
            // Only HTTP/1.1 is supported.
            let vhost = withCStrings(files.certificatePath, files.privateKeyPath, "http/1.1") {
                certificate, key, alpn in
                info.ssl_cert_filepath = certificate
                info.ssl_private_key_filepath = key
                info.alpn = Self.keep(alpn)
                return lws_create_vhost(context, &info)
            }
            return problem.text == nil ? vhost : nil
        }
    }

    /// The vhost's only protocol: raw bytes that libwebsockets doesn't interpret.
    static let protocolName: StaticString = "edge"

    static var protocolText: UnsafePointer<CChar> {
        UnsafeRawPointer(protocolName.utf8Start).assumingMemoryBound(to: CChar.self)
    }

    private static func makeProtocols() -> UnsafeMutablePointer<lws_protocols> {
        let table = UnsafeMutablePointer<lws_protocols>.allocate(capacity: 2)
        table.initialize(repeating: lws_protocols(), count: 2)
        table[0].name = protocolText
        table[0].callback = lwsTrampoline
        // Each piece is written whole: libwebsockets never splits it and never holds part of it back.
        table[0].rx_buffer_size = LWSContext.serviceBufferBytes
        table[0].tx_packet_size = LWSContext.serviceBufferBytes
        return table
    }

    /// A copy that lives as long as the process, because libwebsockets keeps the pointer. A few bytes per vhost.
    private static func keep<Value>(_ value: UnsafePointer<Value>) -> UnsafePointer<Value> {
        let copy = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        copy.initialize(to: value.pointee)
        return UnsafePointer(copy)
    }

    private static func keep(_ text: UnsafePointer<CChar>) -> UnsafePointer<CChar> {
        UnsafePointer(strdup(text))
    }
}

private func withCStrings<Result>(
    _ first: String, _ second: String, _ third: String,
    _ body: (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafePointer<CChar>) -> Result
) -> Result {
    first.withCString { first in
        second.withCString { second in third.withCString { body(first, second, $0) } }
    }
}
