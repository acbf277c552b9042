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

extension Gateway {
    /// Serves until SIGTERM or SIGINT.
    package func runUntilSignalled() async throws {
        var configuration = ServiceGroupConfiguration(
            services: [GatewayService(self)], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        configuration.cancellationSignals = [.sigquit]
        try await ServiceGroup(configuration: configuration).run()
    }
}
