package import Admission
package import Logging
package import Observability
import Synchronization
import WireText

/// Decides which refusals are written in full, and writes the counts of the others; it also has the journal of
/// admissions. One for the whole gateway; any thread.
///
/// Refusals by the gate and refused requests have a digest each, so that requests for paths that don't exist can't use
/// up the lines of the audit log. The counts of a period that has ended are written at the next refusal, or by the
/// gateway's housekeeping task, which runs every few seconds. Nothing is written under a lock.
package final class RefusalJournal: Sendable {
    private let audit: AuditLog
    private let metrics: GatewayMetrics
    private let logger: Logger
    private let decisions: Mutex<RefusalDigest>
    private let requests: Mutex<RefusalDigest>
    /// The same for admissions.
    package let admissions: AdmissionJournal

    /// - Parameter linesPerMinute: `AUDIT_REFUSALS_PER_MINUTE`
    package init(audit: AuditLog, metrics: GatewayMetrics, logger: Logger, linesPerMinute: Int) {
        self.audit = audit
        self.metrics = metrics
        self.logger = logger
        decisions = Mutex(RefusalDigest(linesPerPeriod: linesPerMinute))
        requests = Mutex(RefusalDigest(linesPerPeriod: linesPerMinute))
        admissions = AdmissionJournal(audit: audit, metrics: metrics, logger: logger, linesPerMinute: linesPerMinute)
    }

    /// For a reload.
    package func setLinesPerMinute(_ lines: Int) {
        decisions.withLock { $0.linesPerPeriod = lines }
        requests.withLock { $0.linesPerPeriod = lines }
        admissions.setLinesPerMinute(lines)
    }

    /// Counts a refusal, and first writes any counts that are due.
    ///
    /// - Returns: whether it is to be written in full.
    package func isInFull(_ kind: RefusalKind, _ mark: RefusalMark, at time: MonotonicTime) -> Bool {
        let (due, isInFull) =
            kind.event == .request
            ? requests.withLock { $0.noteAfterTakingDue(kind, mark, at: time) }
            : decisions.withLock { $0.noteAfterTakingDue(kind, mark, at: time) }
        write(due, toAudit: kind.event != .request)
        return isInFull
    }

    /// Writes the counts of a minute that has ended.
    package func writeDue(at time: MonotonicTime) {
        write(decisions.withLock { $0.takeDue(at: time) }, toAudit: true)
        write(requests.withLock { $0.takeDue(at: time) }, toAudit: false)
        admissions.writeDue(at: time)
    }

    /// Writes all current counts: before a reload, a log rotation and the end.
    package func writeAll() {
        write(decisions.withLock { $0.takeAll() }, toAudit: true)
        write(requests.withLock { $0.takeAll() }, toAudit: false)
        admissions.writeAll()
    }

    /// - Parameter toAudit: false for refused requests, which the audit log doesn't contain.
    private func write(_ summaries: [RefusalSummary], toAudit: Bool) {
        for summary in summaries {
            let line = AuditSummary(summary, at: .now())
            let isWritten = toAudit && audit.record(line)
            if toAudit, !isWritten { metrics.auditLineLost() }
            if !isWritten || !audit.isBesideLog { log(line) }
        }
    }

    private func log(_ line: AuditSummary) {
        guard logger.logLevel <= .info else { return }
        logger.info("refusals counted", metadata: line.metadata)
    }
}

extension RefusalDigest {
    fileprivate mutating func noteAfterTakingDue(
        _ kind: RefusalKind, _ mark: RefusalMark, at time: MonotonicTime
    ) -> (due: [RefusalSummary], isInFull: Bool) {
        let due = takeDue(at: time)
        return (due, note(kind, mark, at: time))
    }
}

extension RefusalJournal {
    func isInFull(_ event: RefusedEvent, _ code: RefusalCode, _ context: RequestContext) -> Bool {
        isInFull(
            RefusalKind(prefix: context.address.prefix, event: event, code: code),
            RefusalMark(requestID: context.id, unixMilliseconds: context.moment.unixMilliseconds),
            at: context.moment.monotonic)
    }
}

extension AuditSummary {
    fileprivate init(_ summary: RefusalSummary, at time: Timestamp) {
        let isFailure = summary.kind?.code.isGatewayFailure ?? false
        self.init(
            time: time, event: summary.kind?.event.rawValue, outcome: isFailure ? .failed : .refused,
            reason: summary.kind?.code.rawValue, count: summary.count, first: Mark(summary.first),
            last: Mark(summary.last), address: summary.kind?.prefix.textForLog ?? Self.otherAddresses)
    }
}

extension AuditSummary {
    /// For the log.
    var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = [
            LogKeys.count: "\(count)", LogKeys.address: "\(address)", LogKeys.firstTime: "\(first.time)",
            LogKeys.firstRequestID: "\(first.requestID)", LogKeys.lastTime: "\(last.time)",
            LogKeys.lastRequestID: "\(last.requestID)",
        ]
        metadata[LogKeys.of] = event.map { "\($0)" }
        metadata[LogKeys.reason] = reason.map { "\($0)" }
        metadata[LogKeys.admission] = method.map { "\($0)" }
        metadata[LogKeys.client] = who.map { "\($0)" }
        return metadata
    }
}

extension AuditSummary.Mark {
    init(_ mark: RefusalMark) {
        self.init(time: Timestamp(unixMilliseconds: mark.unixMilliseconds), requestID: mark.requestID)
    }
}
