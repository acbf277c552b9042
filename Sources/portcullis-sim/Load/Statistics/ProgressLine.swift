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
