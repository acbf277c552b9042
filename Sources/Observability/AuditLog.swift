package import Logging
import Synchronization

/// The record of who was let in and who wasn't: JSON objects, one a line, appended to standard output or to a file
/// that only its owner may read.
///
/// `record` may be called from any thread and returns when the line is with the kernel. A line that can't be written
/// is counted in `failures`, and the log says so once until writing works again: the gate's decision stands either
/// way, since a full disk must not lock everybody out, and must not go unnoticed.
package final class AuditLog: Sendable {
    /// Where the lines go: the path of a file, or standard output.
    private let path: String?
    private let output: LineOutput
    private let logger: Logger
    private let state = Mutex(State())

    private struct State {
        var failures: UInt64 = 0
        /// Failures since a line was last written.
        var streak: UInt64 = 0
    }

    /// - Parameter path: opened for appending and created with mode 0600; nil is standard output.
    package init(path: String?, logger: Logger) throws(LineOutputError) {
        self.path = path
        self.output = if let path { try LineOutput(appendingTo: path) } else { .standardOutput }
        self.logger = logger
    }

    /// Over an output of the caller's, which stays as it is when `reopen()` is called.
    package init(output: LineOutput, logger: Logger) {
        path = nil
        self.output = output
        self.logger = logger
    }

    /// Lines that couldn't be written since the start.
    package var failures: UInt64 {
        state.withLock { $0.failures }
    }

    package func record(_ entry: AuditEntry) {
        if let errorNumber = output.write(entry.line) {
            noteFailure(errorNumber)
        } else {
            noteSuccess()
        }
    }

    /// Goes on in a new file of the same name, for log rotation. On standard output it does nothing.
    package func reopen() throws(LineOutputError) {
        if let path { try output.reopen(path) }
    }

    private func noteFailure(_ errorNumber: CInt) {
        let isFirst = state.withLock { state in
            state.failures += 1
            state.streak += 1
            return state.streak == 1
        }
        guard isFirst else { return }
        logger.error(
            "The audit log can't be written; decisions go unrecorded until it can.",
            metadata: [LogKeys.error: "errno \(errorNumber)"])
    }

    private func noteSuccess() {
        let missed = state.withLock { state in
            defer { state.streak = 0 }
            return state.streak
        }
        guard missed > 0 else { return }
        logger.notice("The audit log is written again.", metadata: [LogKeys.count: "\(missed)"])
    }
}
