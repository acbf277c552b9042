package import Admission
package import Observability
package import Reactors
package import RelayCore
import Synchronization
package import WireText

/// The engine: serves the outside on every reactor of a pool, and shuts it down in order.
package final class RelayServer: Sendable {
    let drain: DrainSwitch
    /// Each reactor has its own of it.
    private let snapshot: Mutex<RelaySnapshot>
    let pool: ReactorPool
    private let work = SharedWork()
    /// One per reactor, each used only on its reactor's thread.
    let tables = Mutex<[Pinned<SessionTable>]>([])
    /// The same.
    let places = Mutex<[Pinned<ReactorPlace>]>([])
    let internalServer = Mutex<InternalServer?>(nil)
    /// Other machines reach the internal listener.
    private let isInternalListenerPublic = Atomic<Bool>(false)

    package init(settings: RelaySettings, pool: ReactorPool) {
        snapshot = Mutex(RelaySnapshot(settings))
        self.pool = pool
        drain = settings.drain
    }

    var settings: RelaySettings { snapshot.withLock { $0.relay } }

    /// - Parameters:
    ///   - material: made from `edge.tls`.
    ///   - inherited, accepts: as `ReactorPool.listen` says.
    /// - Returns: the port, chosen by the kernel if `port` is 0.
    package func listen(
        hosts: [String], port: UInt16, edge: EdgeSettings, material: TLSMaterial?, inherited: [Int32] = [],
        accepts: Bool = true
    ) throws(ReactorError) -> UInt16 {
        let snapshot = add { $0.adding(clients: EdgePart(edge, material: material)) }
        return try pool.listen(hosts: hosts, port: port, inherited: inherited, accepts: accepts) { [self] reactor in
            let place = ReactorPlace(reactor, work: work)
            place.serve(with: snapshot)
            tables.withLock { $0.append(Pinned(place.sessions, to: reactor)) }
            places.withLock { $0.append(Pinned(place, to: reactor)) }
            return { place.clients }
        }
    }

    /// For a listener that is about to listen.
    func add(_ listener: (RelaySnapshot) -> RelaySnapshot) -> RelaySnapshot {
        snapshot.withLock { snapshot in
            snapshot = listener(snapshot)
            return snapshot
        }
    }

    /// Listens for requests of the operator's other programs (`ADMIN_BIND`). Call it once, after `listen`, and not on a
    /// reactor.
    ///
    /// - Parameter desks: for the console.
    /// - Returns: the address, with the port that the kernel chose if it was 0.
    package func listenInternally(
        on listening: InternalListening, inspection: GatewayInspection, inherited: InheritedListener? = nil,
        desks: ConsoleDesks
    ) throws(ReactorError) -> String {
        let desk = InternalDesk(
            inspection: inspection, metrics: MetricsEndpoint.makePending(),
            console: ConsoleEndpoint(self, at: listening.address, desks: desks), refusals: InternalRefusals())
        let snapshot = add { $0.adding(internalMaterial: listening.material) }
        let services = places.withLock { $0 }.map { place in
            place.reactor.submit { place.value.serve(with: snapshot, desk: desk) }
            return Pinned(InternalPlace { place.value.internalService }, to: place.reactor)
        }
        let isPublic = inherited.map { !$0.isLocal } ?? listening.address.isPublic
        isInternalListenerPublic.store(isPublic, ordering: .relaxed)
        let server = try InternalServer(listening, on: pool, inherited: inherited, places: services)
        internalServer.withLock { $0 = server }
        return server.address
    }

    /// Accepts no more internal connections: the last step of a shutdown, since HTTP services may outlive the gateway's
    /// sessions.
    ///
    /// - Parameter keepsFile: another process goes on with the socket.
    package func stopListeningInternally(keepsFile: Bool = false) {
        internalServer.withLock { server in
            server?.stopListening(keepsFile: keepsFile)
            server = nil
        }
    }

    /// Applies new settings on every reactor, one after the other, each by one change of a pointer; returns when all
    /// have them.
    ///
    /// - Parameters:
    ///   - new: must have the same `drain` as the original one.
    ///   - demandsAccess: the internal listener has a token or an authority. Settings without ADMIN_BIND say nothing
    ///     about who may use the listener, which lasts until a restart.
    package func replace(_ new: RelaySnapshot, demandsAccess: Bool = true) async {
        let isPublic = isInternalListenerPublic.load(ordering: .relaxed)
        let snapshot = add { new.following($0, mustBeLimited: isPublic || demandsAccess) }
        for place in places.withLock({ $0 }) {
            await withCheckedContinuation { continuation in
                place.reactor.submit {
                    place.value.serve(with: snapshot)
                    continuation.resume()
                }
            }
        }
    }

    /// From now on `/health` says `draining` and upgrades are refused; existing sessions continue.
    package func beginDraining() {
        drain.beginDraining()
        onEveryTable { $0.beginDraining() }
    }

    /// Closes every session with 1001 once its queues are flushed.
    package func closeSessions() {
        onEveryTable {
            $0.closeRelayed(.shuttingDown)
            _ = $0.close(.shuttingDown)
        }
    }

    /// The time for sessions that have stayed with this process is over: each is closed with 1012 once its queues are
    /// flushed.
    package func closeStayingSessions() {
        onEveryTable {
            $0.closeRelayed(.gatewayUpgrading)
            _ = $0.close(.gatewayUpgrading)
        }
    }

    func onEveryTable(_ body: @escaping @Sendable (SessionTable) -> Void) {
        for table in tables.withLock({ $0 }) {
            table.reactor.submit { body(table.value) }
        }
    }

    /// Closes the matching sessions, attached or detached; returns when every reactor has begun closing them.
    ///
    /// - Parameter isMeant: called on the reactors, once for each session; the address is the client's own, also behind
    ///   proxies.
    /// - Returns: how many.
    @discardableResult
    package func closeSessions(
        where isMeant: @escaping @Sendable (Principal, IPAddress) -> Bool, reason: CloseReason
    ) async -> Int {
        var total = 0
        for table in tables.withLock({ $0 }) {
            total += await withCheckedContinuation { continuation in
                table.reactor.submit {
                    continuation.resume(returning: table.value.close(reason, where: isMeant))
                }
            }
        }
        return total
    }

    /// Of the server's certificate; nil without TLS.
    package var certificate: CertificateValidity? { settings.certificate }

    /// Of the internal listener's own.
    package var internalCertificate: CertificateValidity? { settings.internalCertificate }

    package var gate: Gate { settings.gate }

    /// `SESSION_OUTLIVES_TOKEN`
    package var sessionOutlivesToken: Bool {
        settings.tokens?.settings.sessionOutlivesToken ?? true
    }

    /// `REQUIRE_APP_AUTH`
    package var appAuth: AppAuthDemand { settings.appAuth }

    package var servesWebClient: Bool { settings.servesWebClient }

    package var whenAuditFails: AuditFull { settings.whenAuditFails }

    /// The number of registrations and requests for tokens that haven't been answered yet.
    package var registrationCount: Int { work.registrations.current + work.issuing.current }

    /// The number of sessions on all reactors, each queried in turn.
    package func sessionCount() async -> Int {
        var total = 0
        for table in tables.withLock({ $0 }) {
            total += await withCheckedContinuation { continuation in
                table.reactor.submit { continuation.resume(returning: table.value.count) }
            }
        }
        return total
    }
}
