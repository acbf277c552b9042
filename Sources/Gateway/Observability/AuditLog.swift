package import Logging
import Synchronization

/// The record of admissions and refusals: one JSON object per line, appended to standard output or to a file that only
/// its owner may read.
///
/// `record` may be called from any thread and returns when the kernel has the line, or when it can't be written. The
/// caller decides what a failure means for the decision (`AUDIT_FULL`). Lines that couldn't be written are counted. The
/// next call tries again, and first writes the number of missing lines.
package final class AuditLog: Sendable {
    /// Where the lines go: the path of a file, or standard output.
    private let path: String?
    private let output: LineOutput
    private let logger: Logger
    private let state = Mutex(Condition())
    /// The lines go to the same output as the log, which then doesn't repeat them.
    package let isBesideLog: Bool

    package struct Condition: Sendable, Equatable {
        /// Lines that couldn't be written since the start.
        package fileprivate(set) var lost: UInt64 = 0
        /// Lost lines that the log doesn't report yet. Above 0: the last attempt to write failed.
        package fileprivate(set) var pending: UInt64 = 0

        package var isWritten: Bool { pending == 0 }
    }

    /// - Parameter path: opened for appending and created with mode 0600; nil is standard output.
    package init(path: String?, logger: Logger) throws(LineOutputError) {
        self.path = path
        isBesideLog = path == nil && LineOutput.standardStreamsAreOne
        self.output = if let path { try LineOutput(appendingTo: path) } else { .standardOutput }
        self.logger = logger
    }

    /// Writes to an output of the caller, which `reopen()` doesn't change.
    package init(output: LineOutput, logger: Logger, isBesideLog: Bool = false) {
        path = nil
        self.isBesideLog = isBesideLog
        self.output = output
        self.logger = logger
    }

    package var condition: Condition { state.withLock { $0 } }

    /// - Returns: whether the line is written.
    @discardableResult
    package func record(_ entry: AuditEntry) -> Bool { write(entry.line, at: entry.time) }

    /// - Returns: whether the line is written.
    @discardableResult
    package func record(_ summary: AuditSummary) -> Bool { write(summary.line, at: summary.time) }

    /// If the last line couldn't be written: tries to write the number of missing lines.
    package func retry(at time: Timestamp) {
        write(nil, at: time)
    }

    /// Whether the lines go to a file, which can be opened again.
    package var isFile: Bool { path != nil }

    /// Goes on in a new file of the same name, for log rotation. On standard output it does nothing.
    package func reopen() throws(LineOutputError) {
        if let path { try output.reopen(path) }
    }

    private enum News {
        case failing(CInt)
        case recovered(missed: UInt64)
    }

    /// Writes are serialised, so that the reported number of missing lines is correct.
    ///
    /// - Parameter line: nil writes only the number of missing lines.
    @discardableResult
    private func write(_ line: String?, at time: Timestamp) -> Bool {
        let (isWritten, news) = state.withLock { state -> (Bool, News?) in
            let missed = state.pending
            var failure = missed == 0 ? nil : output.write(AuditGap(time: time, count: missed).line)
            if failure == nil {
                state.pending = 0
                failure = line.flatMap { output.write($0) }
            }
            guard let failure else { return (true, missed == 0 ? nil : .recovered(missed: missed)) }
            if line != nil {
                state.lost += 1
                state.pending += 1
            }
            return (false, missed == 0 ? .failing(failure) : nil)
        }
        if let news { log(news) }
        return isWritten
    }

    private func log(_ news: News) {
        switch news {
        case .failing(let errorNumber):
            logger.error(
                "The audit log can't be written; decisions go unrecorded until it can.",
                metadata: [LogKeys.error: "errno \(errorNumber)"])
        case .recovered(let missed):
            logger.notice("The audit log is written again.", metadata: [LogKeys.count: "\(missed)"])
        }
    }
}

/// `AUDIT_FULL`: what happens to clients that would be admitted while the audit log can't be written.
package enum AuditFull: String, Sendable, CaseIterable {
    /// They are refused: no client is admitted without a line in the audit log.
    case refuse
    /// They are admitted. The number of missing lines is written when that is possible again.
    case `continue`
}
