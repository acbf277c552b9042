import Admission
import Observability
import Reactors

/// A reactor's part of a ``RelaySnapshot``: made on its thread, and immutable.
final class ReactorSnapshot {
    let gate: Gate
    let fleetRelay: FleetRelay?
    let clients: EdgeService?
    let gateways: EdgeService?
    let internalService: InternalService?

    init(_ snapshot: RelaySnapshot, at place: ReactorPlace) {
        let settings = snapshot.relay
        (gate, fleetRelay) = (settings.gate, settings.fleetRelay)
        let router = EdgeRouter(
            settings: settings, reactor: place.reactor, sessions: place.sessions, work: place.work)
        clients = snapshot.clients.map { EdgeService($0, handler: router) }
        gateways = snapshot.gateways.map {
            let handler = FleetEdgeHandler(
                router, settings: settings, refusals: place.work.gatewayRefusals, reactor: place.reactor)
            return EdgeService($0, handler: handler)
        }
        internalService = place.internalDesk.map {
            InternalService(InternalRouter(settings: settings, desk: $0), material: snapshot.internalMaterial)
        }
    }
}

/// One reactor of the engine: its sessions, and the one pointer to what is in effect, which a reload changes. On the
/// reactor's thread only.
final class ReactorPlace {
    unowned let reactor: Reactor
    let work: SharedWork
    private(set) lazy var sessions: SessionTable = { [unowned self] in
        SessionTable(gate: self.snapshot.gate, fleetRelay: self.snapshot.fleetRelay)
    }()
    /// Nil before the internal listener listens, and without one.
    private(set) var internalDesk: InternalDesk?
    private var current: ReactorSnapshot?

    init(_ reactor: Reactor, work: SharedWork) {
        self.reactor = reactor
        self.work = work
    }

    var snapshot: ReactorSnapshot {
        guard let current else { preconditionFailure("a reactor serves nothing without settings") }
        return current
    }

    var clients: EdgeService { Self.served(snapshot.clients) }
    var gateways: EdgeService { Self.served(snapshot.gateways) }
    var internalService: InternalService { Self.served(snapshot.internalService) }

    private static func served<Service>(_ service: Service?) -> Service {
        guard let service else { preconditionFailure("a listener has settings before it listens") }
        return service
    }

    /// All further requests of the reactor are served with this. Existing sessions keep their settings, except for the
    /// gate: the current gate decides about their requests.
    ///
    /// - Parameter desk: of an internal listener that is about to listen.
    func serve(with snapshot: RelaySnapshot, desk: InternalDesk? = nil) {
        if let desk { internalDesk = desk }
        current = ReactorSnapshot(snapshot, at: self)
    }
}

/// What the reactors of an engine have in common, through reloads.
struct SharedWork: Sendable {
    let registrations = PendingRegistrations.make()
    let ending: PendingWork
    let issuing = PendingTokens.make()
    /// Of other gateways' connections.
    let gatewayRefusals = InternalRefusals()

    init() { ending = PendingRegistrations.makeEnding(registrations) }
}
