import Admission
package import Logging
package import Observability

package struct ProcessSection: SettingSection {
    package static let title = "Threads and shutdown"

    package let reactorThreads = StartSetting<Int?>.derived(
        "REACTOR_THREADS", from: .cores, 0...1024, "threads", "Network threads; `0` is one per core.")
    package let shutdownGraceMilliseconds = LiveSetting<Int>.integer(
        "SHUTDOWN_GRACE_MS", default: 3000, 0...600_000, "ms", "How long sessions may continue after SIGTERM.",
        details: """
            Then they are closed with 1001. New sessions are refused at once. If no session is left the gateway doesn't wait.
            """)
    package let shutdownDeadlineMilliseconds = LiveSetting<Int>.integer(
        "SHUTDOWN_DEADLINE_MS", default: 15_000, 100...3_600_000, "ms",
        "Time from SIGTERM to the end of the process, whether or not everything has finished.",
        details: "It must be later than SHUTDOWN_GRACE_MS.")
}

package struct CopyoverSection: SettingSection {
    package static let title = "Upgrade without disconnecting"

    package let readyMilliseconds = LiveSetting<Int>.integer(
        "COPYOVER_READY_MS", default: 30_000, 100...600_000, "ms",
        "How long the new program may take from its start until it is ready to take over; then it is ended.",
        details: """
            Meanwhile, and if it isn't ready, the old one serves as before. A tenth of this is the time for requests, dials and closing WebSockets \
            to finish before the sessions are handed over. New connections wait meanwhile. They are served by the new program, or by the old one if \
            it fails.
            """)
    package let stayMinutes = LiveSetting<Int>.integer(
        "COPYOVER_STAY_MINUTES", default: 60, 0...10_080, "min",
        "How long sessions that can't be handed over may go on in the old program; then they are closed with 1012.",
        details: "These are sessions of dialects that can't be resumed, and those with TLS toward their target.")
}

package struct LogSection: SettingSection {
    package static let title = "Logs"

    package let level = StartSetting<Logger.Level>.choice(
        "LOG_LEVEL", default: .info, "The lowest level that is logged.")
    package let format = StartSetting<LogFormat>.choice(
        "LOG_FORMAT", default: .text, "The form of log lines on standard error: for people or for machines.")
    package let auditLogPath = StartSetting<String?>.path(
        "AUDIT_LOG_PATH", "a file", "Where the gate's decisions are appended; unset, to standard output.",
        details: """
            One JSON object a line; the file is created with mode 0600. Nothing else is written to standard output. To rotate the file, move \
            it away and reload, by SIGHUP or with `portcullis reload`.
            """)
    package let auditRefusalsPerMinute = LiveSetting<Int>.integer(
        "AUDIT_REFUSALS_PER_MINUTE", default: RefusalDigest.defaultLinesPerPeriod, 2...1_000_000, "lines a minute",
        "Lines about refusals in the audit log; further ones are counted, by address and reason.",
        details: """
            The log may have as many again. The first 10 refusals of an address for one reason in a minute get a line each; the others are \
            counted, and a count is one line. Admissions always get a line.
            """)
    package let auditFull = LiveSetting<AuditFull>.choice(
        "AUDIT_FULL", default: .refuse,
        "What happens to clients that would be admitted while the audit log can't be written.",
        details: """
            For example while its disk is full. `refuse` answers 503; `continue` admits them without a line.
            Danger: with `continue` clients are admitted unrecorded; with `refuse` nobody new is admitted while the disk is full.
            """)
}
