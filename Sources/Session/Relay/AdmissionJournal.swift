package import Admission
import Logging
import Observability
import Synchronization
package import WireText

/// Decides which admissions have a line of their own, and writes the counts of the others. One for the whole gateway;
/// any thread.
///
/// As with refusals (`RefusalJournal`), the counts of a minute that has ended are written at the next admission, or by
/// the gateway's housekeeping task. Nothing is written under a lock.
package final class AdmissionJournal: Sendable {
    private let audit: AuditLog
    private let metrics: GatewayMetrics
    private let logger: Logger
    private let digest: Mutex<AdmissionDigest>
    /// Of the log alone.
    private let logged: Mutex<AdmissionDigest>

    /// - Parameter linesPerMinute: `AUDIT_REFUSALS_PER_MINUTE`
    init(audit: AuditLog, metrics: GatewayMetrics, logger: Logger, linesPerMinute: Int) {
        self.audit = audit
        self.metrics = metrics
        self.logger = logger
        digest = Mutex(AdmissionDigest(linesPerPeriod: linesPerMinute))
        logged = Mutex(
            AdmissionDigest(
                linesPerPeriod: linesPerMinute, perKind: AdmissionDigest.loggedPerKind,
                perAddress: AdmissionDigest.loggedPerAddress))
    }

    func setLinesPerMinute(_ lines: Int) {
        digest.withLock { $0.setLinesPerPeriod(lines) }
        logged.withLock { $0.setLinesPerPeriod(lines) }
    }

    /// Counts an admission, and first writes any counts that are due.
    ///
    /// - Returns: whether it is to be written in full. While the log can't be written each one is: the attempt decides
    ///   about the client (`AUDIT_FULL`).
    package func isInFull(
        _ kind: AdmissionKind, from address: IPAddress, _ mark: RefusalMark, at time: MonotonicTime
    ) -> Bool {
        guard audit.condition.isWritten else { return true }
        let (due, isInFull) = digest.withLock { digest in
            (digest.takeDue(at: time), digest.note(kind, from: address.prefix, mark, at: time))
        }
        write(due)
        return isInFull
    }

    /// Counts what came of an admission that was only counted.
    func add(_ kind: AdmissionKind, _ mark: RefusalMark, at time: MonotonicTime) {
        write(
            digest.withLock { digest in
                let due = digest.takeDue(at: time)
                digest.add(kind, mark, at: time)
                return due
            })
    }

    /// Whether a session's line goes into the log, which the audit log doesn't have.
    func isLogged(_ kind: AdmissionKind, from address: IPAddress, _ mark: RefusalMark, at time: MonotonicTime) -> Bool {
        let (due, isInFull) = logged.withLock { digest in
            (digest.takeDue(at: time), digest.note(kind, from: address.prefix, mark, at: time))
        }
        log(due)
        return isInFull
    }

    func writeDue(at time: MonotonicTime) {
        write(digest.withLock { $0.takeDue(at: time) })
        log(logged.withLock { $0.takeDue(at: time) })
    }

    func writeAll() {
        write(digest.withLock { $0.takeAll() })
        log(logged.withLock { $0.takeAll() })
    }

    private func write(_ summaries: [AdmissionSummary]) {
        for summary in summaries {
            let line = AuditSummary(summary, at: .now())
            let isWritten = audit.record(line)
            if !isWritten { metrics.auditLineLost() }
            if !isWritten || !audit.isBesideLog { log("admissions counted", line) }
        }
    }

    private func log(_ summaries: [AdmissionSummary]) {
        for summary in summaries { log("lines of sessions counted", AuditSummary(summary, at: .now())) }
    }

    private func log(_ message: Logger.Message, _ line: AuditSummary) {
        guard logger.logLevel <= .info else { return }
        logger.info(message, metadata: line.metadata)
    }
}

extension AuditSummary {
    fileprivate init(_ summary: AdmissionSummary, at time: Timestamp) {
        let kind = summary.kind
        self.init(
            time: time, event: kind?.event.rawValue,
            outcome: kind.flatMap { AuditEntry.Outcome(rawValue: $0.outcome.rawValue) } ?? .admitted,
            reason: kind?.reason?.rawValue, count: summary.count, first: Mark(summary.first), last: Mark(summary.last),
            address: kind.map { Self.address(of: $0.client) } ?? Self.otherAddresses)
        (eventName, method) = (Self.admissionsName, kind?.method.label)
        if case .identity(let subject)? = kind?.client { who = subject }
    }

    private static func address(of client: AdmissionKind.Client) -> String {
        switch client {
        case .identity: allAddresses
        case .stranger(let prefix): prefix.textForLog
        }
    }
}
