/// One statement about this process to its service manager: an assignment of sd_notify(3).
enum ServiceNotification: Equatable, Sendable {
    /// All listeners are open; or a reload has ended, applied or refused.
    case ready
    /// Since that moment of CLOCK_MONOTONIC, until `ready`.
    case reloading(monotonicMicroseconds: UInt64)
    case stopping
    /// A line for `systemctl status`.
    case status(String)
    /// The process is alive. A manager that misses it for WATCHDOG_USEC ends the process.
    case watchdog
    /// From now on that process is the service: a successor that has taken over.
    case mainProcess(Int32)

    /// The longest text of `status` in bytes; longer ones are cut.
    static let maximumStatusBytes = 512

    var text: String {
        switch self {
        case .ready: "READY=1"
        case .reloading(let microseconds): "RELOADING=1\nMONOTONIC_USEC=\(microseconds)"
        case .stopping: "STOPPING=1"
        case .status(let text): "STATUS=\(Self.line(text))"
        case .watchdog: "WATCHDOG=1"
        case .mainProcess(let id): "MAINPID=\(id)"
        }
    }

    /// A line break would begin another assignment.
    private static func line(_ text: String) -> String {
        var line = ""
        for scalar in text.unicodeScalars {
            let isControl = scalar.value < 0x20 || scalar.value == 0x7f
            let next = isControl ? " " : String(scalar)
            guard line.utf8.count + next.utf8.count <= maximumStatusBytes else { break }
            line += next
        }
        return line
    }
}
