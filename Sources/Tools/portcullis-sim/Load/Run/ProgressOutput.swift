import Glibc
import Synchronization

/// Shows progress on standard error: one line that is overwritten on a terminal, otherwise a line every few seconds.
final class ProgressOutput: Sendable {
    private static let plainInterval = 5.0
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let isQuiet: Bool
    private let state = Mutex((phase: "", lastPlain: 0.0, hasLine: false))

    init(isQuiet: Bool) {
        self.isQuiet = isQuiet
    }

    func show(_ line: ProgressLine) {
        guard !isQuiet else { return }
        if isTerminal {
            state.withLock { $0.hasLine = true }
            // Return to the line's beginning and erase the rest of a longer earlier line (ECMA-48: EL).
            put("\r\(line.text)\u{1B}[K")
        } else if isDue(line) {
            put(line.text + "\n")
        }
    }

    func end() {
        let hasLine = state.withLock { $0.hasLine }
        if hasLine { put("\n") }
    }

    private func isDue(_ line: ProgressLine) -> Bool {
        state.withLock { state in
            guard state.phase != line.phase || line.elapsed - state.lastPlain >= Self.plainInterval else {
                return false
            }
            state.phase = line.phase
            state.lastPlain = line.elapsed
            return true
        }
    }

    private func put(_ text: String) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}

/// The progress of a run in one line.
struct ProgressLine: Sendable {
    let phase: String
    let elapsed: Double
    let clients: Int
    let now: LoadStatistics
    let before: LoadStatistics
    /// Seconds between the two samples.
    let interval: Double

    var text: String {
        let messages = Double(now.messagesAnswered - before.messagesAnswered) / interval
        let connects = Double(now.connects - before.connects) / interval
        let bytes = Double(now.bytesReceived - before.bytesReceived) / interval
        let latency = (now.latency.summary ?? now.connectLatency.summary).map {
            "p50 \(Figures.time($0.p50)) p99 \(Figures.time($0.p99))"
        }
        return [
            "\(phase) \(Int(elapsed)) s", "\(now.connected)/\(clients) clients",
            "\(Figures.short(connects)) connects/s",
            "\(Figures.short(messages)) msg/s", "\(Figures.short(bytes / 1e6)) MB/s", latency ?? "–",
            "\(now.errors.total) errors",
        ].joined(separator: " · ")
    }
}
