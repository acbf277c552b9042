package import Admission
package import Observability
package import Reactors
package import RelayCore
import Synchronization
package import WireText

/// The engine: serves the outside on every reactor of a pool, and shuts it down in order.
package final class RelayServer: Sendable {
    let drain: DrainSwitch
    /// The settings for reactors that start; running reactors have a copy.
    let settings: Mutex<RelaySettings>
    let pool: ReactorPool
    private let registrations: PendingWork
    private let ending: PendingWork
    private let issuing = PendingTokens.make()
    /// One per reactor, each used only on its reactor's thread.
    let tables = Mutex<[Pinned<SessionTable>]>([])
    /// The same.
    let routers = Mutex<[Pinned<EdgeRouter>]>([])
    /// The same, for the internal listener.
    private let internalRouters = Mutex<[Pinned<InternalRouter>]>([])
    let internalServer = Mutex<InternalServer?>(nil)
    /// Other machines reach the internal listener.
    private let isInternalListenerPublic = Atomic<Bool>(false)

    package init(settings: RelaySettings, pool: ReactorPool) {
        self.settings = Mutex(settings)
        self.pool = pool
        registrations = PendingRegistrations.make()
        ending = PendingRegistrations.makeEnding(registrations)
        drain = settings.drain
    }

    /// - Parameters:
    ///   - material: made from `edge.tls`.
    ///   - inherited, accepts: as `ReactorPool.listen` says.
    /// - Returns: the port, chosen by the kernel if `port` is 0.
    package func listen(
        hosts: [String], port: UInt16, edge: EdgeSettings, material: TLSMaterial?, inherited: [Int32] = [],
        accepts: Bool = true
    ) throws(ReactorError) -> UInt16 {
        try pool.listen(
            hosts: hosts, port: port, settings: edge, material: material, inherited: inherited, accepts: accepts
        ) { [self] reactor in
            let settings = settings.withLock { $0 }
            let sessions = SessionTable(gate: settings.gate)
            tables.withLock { $0.append(Pinned(sessions, to: reactor)) }
            let router = EdgeRouter(
                settings: settings, reactor: reactor, sessions: sessions, registrations: registrations,
                ending: ending, issuing: issuing)
            routers.withLock { $0.append(Pinned(router, to: reactor)) }
            return router
        }
    }

    /// Listens for requests of the operator's other programs (`ADMIN_BIND`). Call it once, and not on a reactor.
    ///
    /// - Parameter desks: for the console.
    /// - Returns: the address, with the port that the kernel chose if it was 0.
    package func listenInternally(
        on listening: InternalListening, inspection: GatewayInspection, inherited: InheritedListener? = nil,
        desks: ConsoleDesks
    ) throws(ReactorError) -> String {
        let settings = settings.withLock { $0 }
        var handlers: [Pinned<any InternalHandler>] = []
        let metrics = MetricsEndpoint.makePending()
        let console = ConsoleEndpoint(self, at: listening.address, desks: desks)
        let refusals = InternalRefusals()
        for reactor in pool.reactors {
            let router = InternalRouter(
                settings: settings, inspection: inspection, metrics: metrics, console: console, refusals: refusals)
            internalRouters.withLock { $0.append(Pinned(router, to: reactor)) }
            handlers.append(Pinned(router, to: reactor))
        }
        let isPublic = inherited.map { !$0.isLocal } ?? listening.address.isPublic
        isInternalListenerPublic.store(isPublic, ordering: .relaxed)
        let server = try InternalServer(listening, on: pool, inherited: inherited, handlers: handlers)
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

    /// Applies new settings on every reactor, one after the other, each in one step; returns when all have them.
    ///
    /// - Parameters:
    ///   - settings: must have the same `drain` as the original ones.
    ///   - material: made from `edge.tls`.
    ///   - listening: of the internal listener; nil: the settings have none.
    package func replace(
        _ settings: RelaySettings, edge: EdgeSettings, material: TLSMaterial?, listening: InternalListening?
    ) async {
        // Settings without ADMIN_BIND say nothing about who may use the listener, which lasts until a restart.
        let settings = keepingAccess(settings, isDemanded: listening?.demandsAccess ?? true)
        self.settings.withLock { $0 = settings }
        if let listening {
            internalServer.withLock {
                $0?.replace(material: listening.material, maximumPerAddress: listening.maximumPerAddress)
            }
        }
        for router in internalRouters.withLock({ $0 }) {
            router.reactor.submit { router.value.replace(settings) }
        }
        for router in routers.withLock({ $0 }) {
            await withCheckedContinuation { continuation in
                router.reactor.submit {
                    router.value.replace(settings)
                    router.reactor.replaceEdge(edge, material: material)
                    continuation.resume()
                }
            }
        }
    }

    /// See `InternalAccess.replacing`.
    private func keepingAccess(_ new: RelaySettings, isDemanded: Bool) -> RelaySettings {
        var settings = new
        let isPublic = isInternalListenerPublic.load(ordering: .relaxed)
        let old = self.settings.withLock { $0.internalAccess }
        settings.internalAccess = new.internalAccess.replacing(old, mustBeLimited: isPublic || isDemanded)
        return settings
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
    package var certificate: CertificateValidity? { settings.withLock { $0.certificate } }

    /// Of the internal listener's own.
    package var internalCertificate: CertificateValidity? { settings.withLock { $0.internalCertificate } }

    package var gate: Gate { settings.withLock { $0.gate } }

    /// `SESSION_OUTLIVES_TOKEN`
    package var sessionOutlivesToken: Bool {
        settings.withLock { $0.tokens?.settings.sessionOutlivesToken ?? true }
    }

    /// `REQUIRE_APP_AUTH`
    package var appAuth: AppAuthDemand { settings.withLock { $0.appAuth } }

    package var servesWebClient: Bool { settings.withLock { $0.servesWebClient } }

    package var whenAuditFails: AuditFull { settings.withLock { $0.whenAuditFails } }

    /// The number of registrations and requests for tokens that haven't been answered yet.
    package var registrationCount: Int { registrations.current + issuing.current }

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
