import Admission
import BlockingWork
import FoundationEssentials
import KeyStore
import Logging
import Observability
import Reactors
import Relay
import RelayCore
import ServiceLifecycle
import Settings
import UnixSignals

/// Runs a gateway until it is told to stop, then ends it in order (see `Shutdown`).
///
/// Work that may wait for a disk has its own thread. Neither the signal to stop nor a reload waits for it.
struct GatewayService: Service {
    private let gateway: Gateway
    private let upkeep = BlockingThreads("upkeep")
    private let reloads = BlockingThreads("reloads")
    private let copyover = BlockingThreads("copyover")
    private static let upkeepInterval: Duration = .seconds(5)
    private static let expiryInterval: Duration = .milliseconds(500)

    init(_ gateway: Gateway) {
        self.gateway = gateway
    }

    func run() async throws {
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        let copyovers = await UnixSignalsSequence(trapping: .sigusr2)
        await gateway.revocations?.lookOnce()
        // Signals are handled from now on; a process that reads this line may send one.
        gateway.announce()
        gateway.reportReady()
        let watchdog = gateway.startWatchdog()
        // Not in a task group, which would wait for each task, and so for the disk.
        let untilStopped = [
            Task(executorPreference: upkeep) { await keepUp() },
            // Not on the thread of the upkeep, which may wait for the audit log.
            Task { await answer(hangups) },
            Task(executorPreference: reloads) { await gateway.reloadWhenAsked() },
            Task(executorPreference: copyover) { await gateway.copyOverWhenAsked() },
            Task { for await _ in copyovers { gateway.copyovers.ask(nil) { _ in } } },
        ]
        let checkpoints = Task { await checkpoint() }
        let revocations = Task { await gateway.revocations?.run() }
        let expiries = Task { await closeExpired() }
        let fleet = gateway.state.fleet
        let member = Task { await fleet.runMember() }
        let holdings = Task { await fleet.runHoldings() }
        let probes = isInspected ? [Task { await inspectReactors() }, Task { await inspectStore() }] : []
        try? await gracefulShutdown()
        for task in untilStopped + [checkpoints, expiries] { task.cancel() }
        await Shutdown(gateway).perform()
        revocations.cancel()
        for task in [member, holdings] { task.cancel() }
        await member.value
        await fleet.leave()
        watchdog?.cancel()
        for task in probes { task.cancel() }
        // Until here SIGHUP is trapped.
        withExtendedLifetime((hangups, copyovers)) {}
    }

    /// Only the internal listener shows what is found.
    private var isInspected: Bool { gateway.internalAddress != nil }

    /// Until the end of the shutdown, during which probes are answered too.
    private func inspectReactors() async { await gateway.inspector.pulse.run() }

    /// The store has threads for it.
    private func inspectStore() async { await gateway.inspector.storeProbe?.run() }

    /// Periodic housekeeping: it writes to the audit log, and trims the heap.
    private func keepUp() async {
        var memory = MemoryReturn()
        var (certificate, internalCertificate) = (CertificateReminder(), CertificateReminder())
        var rotation = KeyRotationReport()
        var report = ReportReminder()
        while await pause() {
            gateway.state.journal.writeDue(at: MonotonicTime(nanoseconds: Reactor.monotonicNow))
            gateway.state.audit.retry(at: .now())
            rotation.note(gateway.rotateIfDue(), in: gateway.logger)
            gateway.state.fleet.keepSecrets(gateway.logger)
            memory.note(gateway.pool.census.total)
            let time = Int64(Date.now.timeIntervalSince1970)
            let warnings = [
                certificate.due(gateway.server.certificate, at: time),
                internalCertificate.due(gateway.server.internalCertificate, at: time),
                report.due(gateway.server.appAuth, at: time * 1_000),
            ]
            for warning in warnings.compactMap(\.self) { gateway.logger.warning("\(warning)") }
        }
    }

    /// Periodic upkeep of the store, which a client's request never does. The store has a thread for it.
    private func checkpoint() async {
        let state = gateway.state
        var sweep = ErasureSweep()
        while await pause() {
            do throws(KeyRegistryError) {
                try await state.store?.maintain()
                try await state.keptTickets?.forget(expiredAt: Int64(Date.now.timeIntervalSince1970 * 1_000))
                try await finishErasures(&sweep)
            } catch {
                gateway.logger.warning("upkeep of the key store failed", metadata: [LogKeys.error: "\(error)"])
            }
        }
    }

    /// Those of devices that unregister themselves, and those of operators' commands that were cut off.
    private func finishErasures(_ sweep: inout ErasureSweep) async throws(KeyRegistryError) {
        guard let store = gateway.state.store else { return }
        let count = try await sweep.run(store, at: Int64(Date.now.timeIntervalSince1970 * 1_000))
        if count > 0 { gateway.logger.notice("interrupted erasures finished", metadata: [LogKeys.count: "\(count)"]) }
    }

    /// Closes sessions whose proof has expired, as that of an access token unless sessions may outlive tokens, and
    /// those that were only reported, when `REQUIRE_APP_AUTH=report` ends.
    private func closeExpired() async {
        var report = ReportEnd()
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.expiryInterval)
            let time = Int64(Date.now.timeIntervalSince1970 * 1_000)
            if report.isDue(gateway.server.appAuth, at: time) { await gateway.closeReported() }
            let outlives = gateway.server.sessionOutlivesToken
            guard gateway.server.gate.mayExpire(unlessOutlived: outlives) else { continue }
            await gateway.server.closeExpired(at: .now, unlessOutlived: outlives)
        }
    }

    /// - Returns: false when the task is cancelled.
    private func pause() async -> Bool {
        try? await Task.sleep(for: Self.upkeepInterval)
        return !Task.isCancelled
    }
}

extension GatewayService {
    /// SIGHUP: the audit log continues in a new file of the same name, and the settings are read again.
    private func answer(_ hangups: UnixSignalsSequence) async {
        for await _ in hangups { gateway.reloads.ask { _ in } }
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

extension RelayServer {
    /// - Parameter sessionsOutliveTokens: `SESSION_OUTLIVES_TOKEN`
    func closeExpired(at time: Date, unlessOutlived sessionsOutliveTokens: Bool) async {
        await closeSessions(
            where: { principal, _ in principal.hasExpired(at: time, unlessOutlived: sessionsOutliveTokens) },
            reason: .sessionExpired)
    }
}

/// Decides when the log warns of the server's certificate again: once a day, and when its state changes.
struct CertificateReminder {
    private static let interval: Int64 = 86_400

    private var last: (state: CertificateValidity.State, time: Int64)?

    /// The first call only records the state: loading the settings has already warned.
    ///
    /// - Parameter time: seconds since 1970; a clock that was set back makes a warning due.
    /// - Returns: the warning that is due, if any.
    mutating func due(_ validity: CertificateValidity?, at time: Int64) -> String? {
        guard let validity else {
            last = nil
            return nil
        }
        let state = validity.state(at: time)
        guard let last else {
            last = (state, time)
            return nil
        }
        let isRecent = (0..<Self.interval).contains(time - last.time)
        guard last.state != state || !isRecent else { return nil }
        self.last = (state, time)
        return validity.warning(at: time)
    }
}

/// Returns the memory of ended sessions to the system.
///
/// glibc keeps freed memory. After many clients have left, that is most of the process' memory. Some of it is freed
/// only when the timers of the sessions would have fired, so the heap is trimmed several times.
struct MemoryReturn {
    /// The peak of open connections from which trimming the heap is worthwhile.
    private static let crowd = 256
    private static let looks = 12
    private var most = 0
    private var looksLeft = 0

    /// - Parameter connections: the number open now. Call this every few seconds, not on a reactor.
    mutating func note(_ connections: Int) {
        most = max(most, connections)
        if most >= Self.crowd, connections <= most / 2 {
            most = connections
            looksLeft = Self.looks
        }
        guard looksLeft > 0 else { return }
        // At once, and then every third time.
        if looksLeft.isMultiple(of: 3) { ReactorPool.returnFreedMemory() }
        looksLeft -= 1
    }
}
