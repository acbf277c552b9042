import KeyStore
import KeyStoreSQLite
import Logging
import Observability
import Reactors
import ServiceLifecycle
import UnixSignals

/// Runs a gateway until it is told to stop, then ends it in order (see `Shutdown`).
struct GatewayService: Service {
    private let gateway: Gateway
    /// Called once signals are handled: whoever reads the announcement may send one.
    private let announce: @Sendable (String) -> Void
    private static let houseKeepingInterval: Duration = .seconds(5)

    init(_ gateway: Gateway, announce: @escaping @Sendable (String) -> Void) {
        self.gateway = gateway
        self.announce = announce
    }

    func run() async throws {
        announce(gateway.address)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await cancelWhenGracefulShutdown { await keepHouse() } }
            group.addTask { await cancelWhenGracefulShutdown { await reopenAuditLogs() } }
            try? await gracefulShutdown()
            await Shutdown(gateway).perform()
            group.cancelAll()
        }
    }

    /// What has to be done now and then, off the reactors.
    private func keepHouse() async {
        var memory = MemoryReturn()
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.houseKeepingInterval)
            checkpoint()
            memory.note(gateway.pool.census.total)
        }
    }

    /// Folds the write-ahead log into the store: a counter's commit never pays for it.
    private func checkpoint() {
        do throws(KeyRegistryError) {
            _ = try gateway.store?.checkpoint()
        } catch {
            gateway.logger.warning("checkpoint of the key store failed", metadata: [LogKeys.error: "\(error)"])
        }
    }
}

extension GatewayService {
    /// SIGHUP: the audit log goes on in a new file of the same name.
    private func reopenAuditLogs() async {
        for await _ in await UnixSignalsSequence(trapping: .sighup) {
            do throws(LineOutputError) {
                try gateway.audit.reopen()
                gateway.logger.notice("audit log reopened")
            } catch {
                gateway.logger.error("audit log can't be reopened", metadata: [LogKeys.error: "\(error)"])
            }
        }
    }
}

extension Gateway {
    /// Serves until SIGTERM or SIGINT.
    ///
    /// - Parameter announce: called with the address when a signal may be sent.
    package func runUntilSignalled(announce: @escaping @Sendable (String) -> Void) async throws {
        var configuration = ServiceGroupConfiguration(
            services: [GatewayService(self, announce: announce)], gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger)
        configuration.cancellationSignals = [.sigquit]
        try await ServiceGroup(configuration: configuration).run()
    }
}
