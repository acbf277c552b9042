import Admission
import FoundationEssentials
import Logging
import Observability
import Relay
import RelayCore

/// Decides when the log warns of `REQUIRE_APP_AUTH=report` again: once a day, and when it has ended.
struct ReportReminder {
    private static let interval: Int64 = 86_400_000

    private var last: (isOpen: Bool, time: Int64)?

    /// The first call only takes note: loading the settings has warned already.
    ///
    /// - Parameter time: Unix milliseconds; a clock that was set back makes a warning due.
    /// - Returns: the warning that is due.
    mutating func due(_ demand: AppAuthDemand, at time: Int64) -> String? {
        guard case .reported = demand else {
            last = nil
            return nil
        }
        let isOpen = demand.isOpen(at: time)
        guard let last else {
            last = (isOpen, time)
            return nil
        }
        let isRecent = (0..<Self.interval).contains(time - last.time)
        guard last.isOpen != isOpen || !isRecent else { return nil }
        self.last = (isOpen, time)
        return demand.warning(at: time)
    }
}

/// Decides when the sessions of clients that were only reported have to end: when the mode does, by its date or by a
/// reload. A client that was admitted in the last moment may get its session a little later, so they are looked for a
/// few times.
struct ReportEnd {
    static let looks = 10

    /// True at first: a process that has taken over sessions may begin behind the end of the mode.
    private var wasOpen = true
    private var looksLeft = 0

    /// Call it every half second.
    mutating func isDue(_ demand: AppAuthDemand, at time: Int64) -> Bool {
        let isOpen = demand.isOpen(at: time)
        if isOpen { looksLeft = 0 }
        if wasOpen, !isOpen { looksLeft = Self.looks }
        wasOpen = isOpen
        guard looksLeft > 0 else { return false }
        looksLeft -= 1
        return true
    }
}

extension Gateway {
    /// Closes the sessions of clients that were only reported. At the end of report mode all anonymous clients are
    /// closed, also those that came in before it.
    func closeReported() async {
        let isEndOfMode = if case .reported = server.appAuth { true } else { false }
        let count = await server.closeSessions(
            where: { principal, _ in
                principal.endsWithReportMode || isEndOfMode && principal.identity == .anonymous
            }, reason: .sessionExpired)
        if count > 0 {
            logger.notice("sessions without app authentication closed", metadata: [LogKeys.count: "\(count)"])
        }
    }
}
