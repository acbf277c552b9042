import Admission
import HTTPWire
import Logging
import Observability
package import Reactors
import Synchronization
import WireText

/// Upgrades that other gateways pass on: the reactor's own router decides about them, and lets them resume sessions
/// only. The connections are counted separately. Reactor thread only.
final class FleetEdgeHandler: EdgeHandler {
    private let router: EdgeRouter
    private let metrics: GatewayMetrics
    private let refusals: InternalRefusals
    private let logger: Logger
    private unowned let reactor: Reactor

    init(_ router: EdgeRouter, settings: RelaySettings, refusals: InternalRefusals, reactor: Reactor) {
        self.router = router
        metrics = settings.metrics
        logger = settings.logger
        self.refusals = refusals
        self.reactor = reactor
    }

    func limit(_ head: RequestHead?, peer: SocketAddress, isUnnamed: Bool) -> RequestLimitation {
        router.limit(head, peer: peer, isUnnamed: isUnnamed)
    }

    /// The edge hands over nothing but upgrades.
    func handle(_ exchange: HTTPExchange) { exchange.respond(HTTPAnswer(status: 404, closesConnection: true)) }

    func handle(_ upgrade: UpgradeExchange) { upgrade.refuse(HTTPAnswer(status: 404)) }

    func handle(_ passedOn: PassedOnUpgrade) { router.handle(passedOn) }

    func answer(to fault: EdgeFault, peer: SocketAddress) -> HTTPAnswer { router.answer(to: fault, peer: peer) }

    func connectionOpened() {}
    func connectionClosed() {}

    func connectionRefused(_ refusal: CensusRefusal) {
        if case .handshakeRate = refusal {
            refused(.handshakeRate, "too many handshakes")
        } else {
            refused(.total, "too many connections")
        }
    }

    func handshakeEnded(_ outcome: HandshakeEnd) {
        switch outcome {
        case .completed: break
        case .failed: refused(.handshakeFailed, "the TLS handshake failed")
        case .timedOut: refused(.handshakeTimedOut, "the TLS handshake took too long")
        }
    }

    func gatewayRefused(_ refusal: GatewayRefusal, peer: SocketAddress) {
        let reason: GatewayConnectionRefusal =
            switch refusal {
            case .noCertificate: .noCertificate
            case .untrusted: .untrusted
            case .notGateway: .notGateway
            case .preface: .preface
            case .late: .late
            }
        refused(reason, refusal.detail, peer)
    }

    /// Strangers can cause any number of refusals.
    private func refused(_ reason: GatewayConnectionRefusal, _ detail: String, _ peer: SocketAddress? = nil) {
        metrics.gatewayConnectionRefused(reason)
        guard let suppressed = refusals.note(at: reactor.now) else { return }
        var metadata: Logger.Metadata = [LogKeys.reason: "\(reason.rawValue)", LogKeys.detail: "\(detail)"]
        metadata[LogKeys.address] = peer.map { "\($0.address.text)" }
        if suppressed > 0 { metadata[LogKeys.suppressed] = "\(suppressed)" }
        logger.warning("connection of another gateway refused", metadata: metadata)
    }
}

extension RelayServer {
    /// Listens for the other gateways of the fleet (`FLEET_BIND`); call it after `listen`, and not on a reactor.
    ///
    /// - Parameters:
    ///   - part: with the fleet's TLS, and otherwise as for clients.
    ///   - maximum: of connections.
    ///   - inherited, accepts: as `ReactorPool.listen` says.
    /// - Returns: the port, chosen by the kernel if `port` is 0.
    package func listenForGateways(
        host: String, port: UInt16, _ part: EdgePart, access: GatewayAccess, maximum: Int, inherited: [Int32] = [],
        accepts: Bool = true
    ) throws(ReactorError) -> UInt16 {
        let census = ConnectionCensus(
            maximum: maximum, maximumPerAddress: maximum,
            handshakes: HandshakeRates(
                perSecond: Self.gatewayHandshakesPerSecond, perSecondPerAddress: Self.gatewayHandshakesPerSecond))
        let snapshot = add { $0.adding(gateways: part) }
        let places = places.withLock { $0 }
        return try pool.listenForGateways(
            host: host, port: port, access: access, census: census, inherited: inherited, accepts: accepts
        ) { reactor in
            guard let place = places.first(where: { $0.reactor === reactor })?.value else {
                preconditionFailure("gateways are served where clients are")
            }
            place.serve(with: snapshot)
            return { place.gateways }
        }
    }

    /// Each costs a millisecond or two; a gateway that starts again gets its clients' reconnects at once.
    static var gatewayHandshakesPerSecond: Int { 500 }
}
