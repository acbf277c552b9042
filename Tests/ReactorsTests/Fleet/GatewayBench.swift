import COpenSSL
import FleetWire
import Glibc
import HTTPWire
import WireText

@testable import Reactors

/// The certificates of a fleet, and some that aren't.
enum FleetCertificates {
    static let role = "gateway.fleet"
    static let names = "DNS:localhost,IP:127.0.0.1,DNS:\(role)"
    static let authority = TestIdentity("Fleet CA", isAuthority: true)
    static let playersAuthority = TestIdentity("Players' CA", isAuthority: true)
    static let gateway = TestIdentity("gateway", names: names, by: authority)
    static let authorityFile = NamelessFile(authority.pem)
    static let playersFile = NamelessFile(playersAuthority.pem)
    static let files = (certificate: NamelessFile(gateway.pem), key: NamelessFile(gateway.keyPEM))

    static var server: TLSSettings {
        TLSSettings(
            certificatePath: files.certificate.path, privateKeyPath: files.key.path, clientCAPath: authorityFile.path)
    }

    /// What a gateway presents and demands when it dials another one.
    static func dialling(role: String = role) throws -> TargetTLS {
        var settings = TargetTLSSettings(
            mode: .required, caPath: authorityFile.path, handshakeTimeoutMilliseconds: Patience.milliseconds)
        settings.mutual = MutualTLS(
            certificatePath: files.certificate.path, privateKeyPath: files.key.path, peerName: role)
        return try TargetTLS(settings)
    }
}

/// One gateway's edges on a reactor: for clients, and for other gateways. It accepts or refuses upgrades.
///
/// - Note: `@unchecked Sendable` because its mutable state is used only on the reactor's thread.
final class GatewayBench: EdgeHandler, WebSocketHandler, @unchecked Sendable {
    enum Event: Hashable, Sendable {
        case upgrade(peer: SocketAddress, isTLS: Bool, relayed: RelayPreface?, isCertified: Bool)
        case request
        case opened
        case message([UInt8])
        case peerClosed(UInt16?)
        case closed
        case gatewayRefused(GatewayRefusal)
    }

    let reactor: Reactor
    let events: AsyncStream<Event>
    private let sink: AsyncStream<Event>.Continuation
    private var listeners: [EdgeListener] = []
    private(set) var webSocket: WebSocketConnection?
    private var message: [UInt8] = []
    var refusal: HTTPAnswer?
    var keepsUndecided = false
    private var undecided: [UpgradeExchange] = []
    var echoes = true
    var pausesReading = false
    private(set) var received = 0

    init(on reactor: Reactor) {
        self.reactor = reactor
        (events, sink) = AsyncStream.makeStream(of: Event.self)
    }

    /// For clients.
    func serve(_ settings: EdgeSettings = .plain) async throws -> UInt16 {
        try await listen(settings, access: nil)
    }

    func serveGateways(
        _ tls: TLSSettings = FleetCertificates.server, _ change: @Sendable (inout EdgeLimits) -> Void = { _ in },
        maximum: Int = 100
    ) async throws -> UInt16 {
        var limits = EdgeLimits()
        change(&limits)
        return try await listen(
            EdgeSettings(tls: tls, subprotocols: [], limits: limits),
            access: GatewayAccess(peerName: FleetCertificates.role), maximum: maximum)
    }

    private func listen(_ settings: EdgeSettings, access: GatewayAccess?, maximum: Int = 100) async throws -> UInt16 {
        try await reactor.run { [self] in
            Result { () throws(ReactorError) in
                let socket = try ListeningSocket(host: "127.0.0.1", port: 0)
                let listener = try EdgeListener(
                    reactor: reactor, settings: settings, gateways: access,
                    census: ConnectionCensus(maximum: maximum, maximumPerAddress: maximum), handler: self)
                let port = socket.port
                listener.listen(on: socket.take())
                if access == nil { reactor.edge = listener }
                listeners.append(listener)
                return port
            }
        }.get()
    }

    func stop() async { await reactor.run { self.listeners.forEach { $0.closeListening() } } }

    /// Changes it on the reactor's thread.
    func set(_ change: @escaping @Sendable (GatewayBench) -> Void) async { await reactor.run { change(self) } }

    /// The first event that `isMeant` accepts; earlier ones are dropped.
    func next(_ isMeant: @Sendable (Event) -> Bool) async -> Event? {
        for await event in events where isMeant(event) { return event }
        return nil
    }

    // MARK: EdgeHandler

    func handle(_ exchange: HTTPExchange) {
        sink.yield(.request)
        exchange.respond(HTTPAnswer(status: 404))
    }

    func handle(_ upgrade: UpgradeExchange) { handle(upgrade, nil) }

    func handle(_ passedOn: PassedOnUpgrade) { handle(passedOn.upgrade, passedOn.preface) }

    private func handle(_ upgrade: UpgradeExchange, _ preface: RelayPreface?) {
        sink.yield(
            .upgrade(
                peer: upgrade.peer, isTLS: upgrade.isTLS, relayed: preface,
                isCertified: upgrade.certificate != nil))
        if keepsUndecided { return undecided.append(upgrade) }
        if let refusal { return upgrade.refuse(refusal) }
        upgrade.accept(self)
    }

    func limit(_ head: RequestHead?, peer: SocketAddress, isUnnamed: Bool) -> RequestLimitation { .serve(client: nil) }
    func connectionRefused(_ refusal: CensusRefusal) {}
    func connectionOpened() {}
    func connectionClosed() {}
    func gatewayRefused(_ refusal: GatewayRefusal, peer: SocketAddress) { sink.yield(.gatewayRefused(refusal)) }
    func answer(to fault: EdgeFault, peer: SocketAddress) -> HTTPAnswer {
        HTTPAnswer(status: fault == .undecided ? 503 : 400)
    }

    // MARK: WebSocketHandler

    func webSocketOpened(_ webSocket: WebSocketConnection) {
        self.webSocket = webSocket
        if pausesReading { webSocket.setReading(paused: true) }
        sink.yield(.opened)
    }

    func webSocketReceived(_ piece: MessagePiece) {
        message += Array(piece.bytes)
        received += piece.bytes.count
        guard piece.isLast else { return }
        if echoes { message.withUnsafeBytes { webSocket?.sendMessage($0, isText: piece.isText) } }
        sink.yield(.message(message))
        message = []
    }

    func webSocketPeerClosed(code: UInt16?) { sink.yield(.peerClosed(code)) }
    func webSocketReceivedControlFrame(bytes: Int) {}
    func webSocketHeardPong() {}
    func webSocketWrote() {}
    func webSocketClosed() {
        webSocket = nil
        sink.yield(.closed)
    }
}

extension TLSPeer {
    /// The client's side with a certificate.
    ///
    /// - Returns: nil if the handshake fails.
    static func connect(
        _ socket: PlainSocket, presenting identity: TestIdentity?, version: Int32? = nil, serverName: String? = nil
    ) -> TLSPeer? {
        let peer = TLSPeer(socket, presenting: identity, version: version, serverName: serverName)
        return peer.shakeHands() ? peer : nil
    }
}
