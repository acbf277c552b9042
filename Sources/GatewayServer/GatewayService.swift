import KeyStore
import KeyStoreSQLite
import Logging
import Observability
import ServiceLifecycle
import UnixSignals

/// Runs a gateway until it is told to stop, then ends it in order (see `Shutdown`).
struct GatewayService: Service {
    private let gateway: Gateway
    private static let checkpointInterval: Duration = .seconds(5)

    init(_ gateway: Gateway) {
        self.gateway = gateway
    }

    func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await cancelWhenGracefulShutdown { await keepStoreSmall() } }
            group.addTask { await cancelWhenGracefulShutdown { await reopenAuditLogs() } }
            try? await gracefulShutdown()
            await Shutdown(gateway).perform()
            group.cancelAll()
        }
    }

    /// Folds the write-ahead log into the store, off the reactors: a counter's commit never pays for it.
    private func keepStoreSmall() async {
        guard let store = gateway.store else { return }
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.checkpointInterval)
            do throws(KeyRegistryError) {
                _ = try store.checkpoint()
            } catch {
                gateway.logger.warning("checkpoint of the key store failed", metadata: [LogKeys.error: "\(error)"])
            }
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
    package func runUntilSignalled() async throws {
        var configuration = ServiceGroupConfiguration(
            services: [GatewayService(self)], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        configuration.cancellationSignals = [.sigquit]
        try await ServiceGroup(configuration: configuration).run()
    }
}
