import Admission
import KeyStore
import KeyStoreSQLite
import Logging
import Observability
import Reactors
import Relay
import ServiceLifecycle
import UnixSignals

/// Runs a gateway until it is told to stop, then ends it in order (see `Shutdown`).
struct GatewayService: Service {
    private let gateway: Gateway
    private static let houseKeepingInterval: Duration = .seconds(5)

    init(_ gateway: Gateway) {
        self.gateway = gateway
    }

    func run() async throws {
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        // Only now signals are handled: whoever reads this line may send one.
        gateway.announce()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await cancelWhenGracefulShutdown { await keepHouse() } }
            group.addTask { await cancelWhenGracefulShutdown { await answer(hangups) } }
            group.addTask { await cancelWhenGracefulShutdown { await gateway.reloadWhenAsked() } }
            group.addTask { await gateway.revocations?.run() }
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
            gateway.state.journal.writeDue(at: MonotonicTime(nanoseconds: Reactor.monotonicNow))
            gateway.state.audit.retry(at: .now())
            memory.note(gateway.pool.census.total)
        }
    }

    /// Folds the write-ahead log into the store: a counter's commit never pays for it.
    private func checkpoint() {
        do throws(KeyRegistryError) {
            _ = try gateway.state.store?.checkpoint()
        } catch {
            gateway.logger.warning("checkpoint of the key store failed", metadata: [LogKeys.error: "\(error)"])
        }
    }
}

extension GatewayService {
    /// SIGHUP: the audit log goes on in a new file of the same name, and the settings are read again.
    private func answer(_ hangups: UnixSignalsSequence) async {
        for await _ in hangups {
            reopenAuditLog()
            gateway.reloads.ask { _ in }
        }
    }

    private func reopenAuditLog() {
        gateway.state.journal.writeAll()
        do throws(LineOutputError) {
            try gateway.state.audit.reopen()
            gateway.logger.notice("audit log reopened")
        } catch {
            gateway.logger.error("audit log can't be reopened", metadata: [LogKeys.error: "\(error)"])
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
