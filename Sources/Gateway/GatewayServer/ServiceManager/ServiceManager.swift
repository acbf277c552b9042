import Glibc
import Logging
import Observability
import Synchronization

/// The service manager that has started this process, as systemd does with `Type=notify`. Without one, nothing is sent.
///
/// A manager that can't be reached doesn't disturb the gateway: the first failure is logged.
final class ServiceManager: Sendable {
    private let socket: NotificationSocket?
    /// How often the manager wants to hear `.watchdog`: half the time after which it ends the process. Nil: it doesn't
    /// watch.
    let watchdogInterval: Duration?
    private let logger: Logger
    private let hasFailed = Atomic(false)
    /// The manager listens to another process, and must hear nothing more of this one.
    private let isReplaced = Mutex(false)

    /// - Parameter environment: that of the process.
    init(environment: [String: String], processID: Int32 = getpid(), logger: Logger) {
        self.logger = logger
        let address = environment["NOTIFY_SOCKET"]
        socket = address.flatMap(NotificationSocket.init(address:))
        watchdogInterval = socket == nil ? nil : Self.watchdogInterval(environment, processID)
        if let address, socket == nil {
            logger.warning("NOTIFY_SOCKET isn't usable", metadata: [LogKeys.detail: "\(address)"])
        }
    }

    /// Blocks for a second at most, so call it on no reactor. After ``tellReplaced(by:)`` nothing is sent.
    func tell(_ notifications: ServiceNotification...) {
        isReplaced.withLock { isReplaced in
            if !isReplaced { _ = send(notifications) }
        }
    }

    /// The last thing that the manager hears of this process: another one is the service from now on. If it couldn't be
    /// told, it goes on listening to this one, which goes on telling.
    func tellReplaced(by processID: Int32) {
        isReplaced.withLock { $0 = send([.mainProcess(processID)]) || $0 }
    }

    private func send(_ notifications: [ServiceNotification]) -> Bool {
        guard let socket else { return false }
        do throws(NotificationFailure) {
            try socket.send(notifications.map(\.text).joined(separator: "\n"))
            return true
        } catch {
            if !hasFailed.exchange(true, ordering: .relaxed) {
                logger.warning("the service manager can't be told", metadata: [LogKeys.error: "\(error)"])
            }
            return false
        }
    }

    /// WATCHDOG_USEC, unless WATCHDOG_PID says that it is meant for another process.
    private static func watchdogInterval(_ environment: [String: String], _ processID: Int32) -> Duration? {
        guard let text = environment["WATCHDOG_USEC"], let microseconds = Int64(text), microseconds > 1 else {
            return nil
        }
        if let watched = environment["WATCHDOG_PID"], watched != "\(processID)" { return nil }
        return .microseconds(microseconds / 2)
    }

    /// STATE_DIRECTORY: where what has to outlive the process is kept, the first one if there are several. It is also
    /// set without a manager, as in a container.
    static func stateDirectory(_ environment: [String: String]) -> String? {
        environment["STATE_DIRECTORY"]?.split(separator: ":").first.map { String($0) }
    }

    /// The environment for a process that takes over as `.mainProcess`: the manager watches it then, under its own
    /// process id.
    static func environment(ofSuccessor environment: [String: String]) -> [String: String] {
        environment.filter { $0.key != "WATCHDOG_PID" }
    }
}
