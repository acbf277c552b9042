import Admission
import BlockingWork
import Dispatch
import Glibc
import Logging
import Observability
import Reactors
import Relay
import Settings
import Synchronization

/// The orderly shutdown: refuse new clients, let sessions continue for the grace period, close the remaining ones, exit
/// by the deadline.
///
/// It ends at once when no session and no registration is left.
struct Shutdown {
    private let gateway: Gateway
    private static let pollInterval: Duration = .milliseconds(20)
    /// The time limit for writing the last log lines at the deadline.
    private static let lastLinesLimit: DispatchTimeInterval = .milliseconds(250)

    init(_ gateway: Gateway) {
        self.gateway = gateway
    }

    /// Exits by the deadline, even if a reactor, the disk or Swift's pool is blocked: nothing here waits for any of
    /// them.
    private func leave(by deadline: DispatchTime) {
        let logger = gateway.logger
        let journal = gateway.state.journal
        Task(executorPreference: BlockingThreads("deadline")) {
            Self.sleep(until: deadline)
            // Writing the logs may be what blocks.
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

    /// Blocks its thread, because a task's sleep would need Swift's pool to resume.
    private static func sleep(until deadline: DispatchTime) {
        _ = DispatchSemaphore(value: 0).wait(timeout: deadline)
    }

    private static func wait(for written: DispatchSemaphore) {
        _ = written.wait(timeout: .now() + lastLinesLimit)
    }

    /// - Returns: whether the last session and registration ended before `end`.
    private func waitForSilence(until end: ContinuousClock.Instant) async -> Bool {
        while await gateway.server.sessionCount() > 0 || gateway.server.registrationCount > 0 {
            guard ContinuousClock.now < end else { return false }
            try? await Task.sleep(for: Self.pollInterval, clock: .continuous)
        }
        return true
    }

    /// Logs the number of remaining sessions, and the time limit.
    private func note(_ what: Logger.Message, milliseconds: Int) async {
        let sessions = await gateway.server.sessionCount()
        gateway.logger.notice(
            what, metadata: [LogKeys.count: "\(sessions)", LogKeys.milliseconds: "\(milliseconds)"])
    }

    func perform() async {
        let process = gateway.current.now.live.process
        let (grace, limit) = (process.shutdownGraceMilliseconds, process.shutdownDeadlineMilliseconds)
        let start = ContinuousClock.now
        let deadline = start + .milliseconds(limit)
        leave(by: .now() + .milliseconds(limit))
        // A new process that is beginning to serve goes first.
        gateway.handingOver.withLock { _ in gateway.state.drain.beginDraining() }
        gateway.server.beginDraining()
        gateway.member?.hurry()
        gateway.control?.close()
        gateway.reportDrain()
        await note("draining: sessions may end by themselves", milliseconds: grace)
        if await !waitForSilence(until: start + .milliseconds(grace)) {
            await note("closing the sessions that are left", milliseconds: limit - grace)
            gateway.member?.beginLeaving()
            gateway.server.closeSessions()
            _ = await waitForSilence(until: deadline)
        }
        gateway.pool.stopListening()
        gateway.server.stopListeningInternally()
        let left = await gateway.server.sessionCount()
        gateway.state.journal.writeAll()
        gateway.logger.notice("stopped", metadata: [LogKeys.count: "\(left)"])
    }
}
