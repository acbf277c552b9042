import Admission
package import Reactors
import Synchronization

/// The engine: serves the outside on every reactor of a pool, and ends it in order.
package final class RelayServer: Sendable {
    private let settings: RelaySettings
    private let pool: ReactorPool
    private let registrations = PendingRegistrations()
    /// {tables} One a reactor, each used on its reactor's thread alone.
    private let tables = Mutex<[Pinned<SessionTable>]>([])

    package init(settings: RelaySettings, pool: ReactorPool) {
        self.settings = settings
        self.pool = pool
    }

    /// - Returns: the port, chosen by the kernel where `port` is 0.
    package func listen(host: String, port: UInt16, edge: EdgeSettings) throws(ReactorError) -> UInt16 {
        try pool.listen(host: host, port: port, settings: edge) { [self] reactor in
            let sessions = SessionTable()
            tables.withLock { $0.append(Pinned(sessions, to: reactor)) }
            return EdgeRouter(settings: settings, reactor: reactor, sessions: sessions, registrations: registrations)
        }
    }

    /// From here on `/health` says `draining` and upgrades are refused; what stands goes on.
    package func beginDraining() {
        settings.drain.beginDraining()
    }

    /// Closes every session with 1001 once its queues are flushed.
    package func closeSessions() {
        for table in tables.withLock({ $0 }) {
            table.reactor.submit { table.value.shutDown() }
        }
    }

    /// Registrations that are being verified or stored, and haven't been answered.
    package var registrationCount: Int { registrations.current }

    /// Sessions on all reactors, each asked in turn.
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
