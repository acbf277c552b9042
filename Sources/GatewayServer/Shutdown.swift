import Glibc
import Logging
import Observability
import Reactors
import Relay
import Settings
import Synchronization

/// The end in order: refuse newcomers, let sessions go on for the grace, close what stands, leave by the deadline.
///
/// Nobody is waited for who isn't there: with no session and no registration left it ends at once.
struct Shutdown {
    private let gateway: Gateway
    private static let pollInterval: Duration = .milliseconds(20)

    init(_ gateway: Gateway) {
        self.gateway = gateway
    }

    /// Whatever a reactor may be busy with, the process is gone by the deadline.
    private func leave(by deadline: ContinuousClock.Instant) {
        let logger = gateway.logger
        let journal = gateway.state.journal
        Task.detached {
            try? await ContinuousClock().sleep(until: deadline)
            journal.writeAll()
            logger.warning("the shutdown's deadline is reached; sessions are cut off")
            exit(0)
        }
    }

    /// - Returns: whether nobody was left before `end`.
    private func waitForSilence(until end: ContinuousClock.Instant) async -> Bool {
        while await gateway.server.sessionCount() > 0 || gateway.server.registrationCount > 0 {
            guard ContinuousClock.now < end else { return false }
            try? await Task.sleep(for: Self.pollInterval, clock: .continuous)
        }
        return true
    }

    /// Says how many are waited for, and how long.
    private func note(_ what: Logger.Message, milliseconds: Int) async {
        let sessions = await gateway.server.sessionCount()
        gateway.logger.notice(
            what, metadata: [LogKeys.count: "\(sessions)", LogKeys.milliseconds: "\(milliseconds)"])
    }

    func perform() async {
        let process = gateway.inEffect.withLock { $0.process }
        let (grace, limit) = (process.shutdownGraceMilliseconds, process.shutdownDeadlineMilliseconds)
        let start = ContinuousClock.now
        let deadline = start + .milliseconds(limit)
        leave(by: deadline)
        gateway.server.beginDraining()
        gateway.control?.close()
        await note("draining: sessions may end by themselves", milliseconds: grace)
        if await !waitForSilence(until: start + .milliseconds(grace)) {
            await note("closing the sessions that are left", milliseconds: limit - grace)
            gateway.server.closeSessions()
            _ = await waitForSilence(until: deadline)
        }
        gateway.pool.stopListening()
        let left = await gateway.server.sessionCount()
        gateway.state.journal.writeAll()
        gateway.logger.notice("stopped", metadata: [LogKeys.count: "\(left)"])
    }
}
