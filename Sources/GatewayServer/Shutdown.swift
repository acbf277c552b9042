import BlockingWork
import Dispatch
import Glibc
import Logging
import Observability
import Reactors
import Relay
import Settings
import Synchronization

/// The end in order: refuse new clients, let sessions go on for the grace, close those that are left, exit by the deadline.
///
/// With no session and no registration left it ends at once.
struct Shutdown {
    private let gateway: Gateway
    private static let pollInterval: Duration = .milliseconds(20)
    /// What the last lines of the logs may take at the deadline.
    private static let lastLinesLimit: DispatchTimeInterval = .milliseconds(250)

    init(_ gateway: Gateway) {
        self.gateway = gateway
    }

    /// Whatever a reactor, the disk or Swift's pool may be busy with, the process is gone by the deadline: nothing that is waited for here
    /// needs any of them.
    private func leave(by deadline: DispatchTime) {
        let logger = gateway.logger
        let journal = gateway.state.journal
        Task(executorPreference: BlockingThreads("deadline")) {
            Self.sleep(until: deadline)
            // The logs may be what is stuck.
            let written = DispatchSemaphore(value: 0)
            Task(executorPreference: BlockingThreads("last lines")) {
                logger.warning("the shutdown's deadline is reached; sessions are cut off")
                journal.writeAll()
                written.signal()
            }
            Self.wait(for: written)
            _exit(0)
        }
    }

    /// Blocks its thread: a task's sleep ends on Swift's pool.
    private static func sleep(until deadline: DispatchTime) {
        _ = DispatchSemaphore(value: 0).wait(timeout: deadline)
    }

    private static func wait(for written: DispatchSemaphore) {
        _ = written.wait(timeout: .now() + lastLinesLimit)
    }

    /// - Returns: whether no session and no registration was left before `end`.
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
        leave(by: .now() + .milliseconds(limit))
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
