import Glibc
import Logging
import Observability
import Reactors
import Relay

/// The end in order: refuse newcomers, give load balancers time to notice, close what stands, leave by the deadline.
struct Shutdown {
    private let gateway: Gateway
    private static let pollInterval: Duration = .milliseconds(20)

    init(_ gateway: Gateway) {
        self.gateway = gateway
    }

    /// Whatever a reactor may be busy with, the process is gone by the deadline.
    private func leave(by deadline: ContinuousClock.Instant) {
        let logger = gateway.logger
        Task.detached {
            try? await ContinuousClock().sleep(until: deadline)
            logger.warning("the shutdown's deadline is reached; sessions are cut off")
            exit(0)
        }
    }

    func perform() async {
        let clock = ContinuousClock()
        let deadline = clock.now + .milliseconds(gateway.shutdown.shutdownDeadlineMilliseconds)
        gateway.logger.notice("draining")
        leave(by: deadline)
        gateway.server.beginDraining()
        gateway.control?.close()
        try? await clock.sleep(for: .milliseconds(gateway.shutdown.shutdownGraceMilliseconds))
        gateway.server.closeSessions()
        while clock.now < deadline, await gateway.server.sessionCount() > 0 {
            try? await clock.sleep(for: Self.pollInterval)
        }
        gateway.pool.stopListening()
        let left = await gateway.server.sessionCount()
        gateway.logger.notice("stopped", metadata: [LogKeys.count: "\(left)"])
    }
}
