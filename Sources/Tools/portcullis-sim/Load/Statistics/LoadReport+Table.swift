import Foundation

extension LoadReport {
    /// A table of two columns.
    var table: String {
        let rows = head + connectRows + trafficRows + flappingRows + processRows + errorRows
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { name, value in
            name.padding(toLength: width + 2, withPad: " ", startingAt: 0) + value + "\n"
        }.joined()
    }

    private typealias Row = (String, String)

    private var head: [Row] {
        [
            ("scenario", "\(scenario), \(clients) clients, \(Figures.short(seconds)) s"), ("gateway", gateway),
        ]
    }

    private var connectRows: [Row] {
        [
            ("connects", "\(connects.opened), \(Figures.short(connects.perSecond))/s, \(connects.failed) failed"),
            ("connect latency", Figures.latency(connects.latencyMicroseconds)),
        ]
    }

    private var trafficRows: [Row] {
        guard traffic.messagesSent > 0 || traffic.bytesReceived > 0 else { return [] }
        return [
            ("messages", "\(traffic.messagesAnswered), \(Figures.short(traffic.messagesPerSecond))/s"),
            (
                "throughput",
                "\(Figures.short(traffic.megabytesPerSecondUp)) MB/s up, \(Figures.short(traffic.megabytesPerSecondDown)) MB/s down"
            ),
            ("latency", Figures.latency(traffic.latencyMicroseconds)),
        ]
    }

    private var flappingRows: [Row] {
        guard let flapping else { return [] }
        return [
            (
                "flapping",
                "\(flapping.vanished) vanished, \(flapping.answersLost) of them before their resume was answered; "
                    + "\(flapping.resumed) resumed, \(flapping.takenOver) taken over, "
                    + "\(flapping.overtaken) overtaken, \(flapping.postponed) postponed, "
                    + "\(flapping.begunAnew) begun anew"
                    + (flapping.abandonedBytes > 0 ? " with \(flapping.abandonedBytes) B under way" : "")
                    + (flapping.unclaimed > 0 ? ", \(flapping.unclaimed) unclaimed" : "")
            ),
            ("bytes checked", "\(flapping.checkedBytes)"),
            ("gaps announced", "\(flapping.gaps), \(flapping.gapBytes) B"),
        ]
    }

    private var processRows: [Row] {
        [("gateway's process", gatewayProcess), ("own process", ownProcess)].compactMap { name, process in
            guard let process else { return nil }
            let memory = [process.residentBytesBefore, process.residentBytesAfter, process.residentBytesHighest]
                .map { Figures.short(Double($0) / 1_048_576) }
            let each = [
                process.cpuMicrosecondsPerMessage.map { ", \(Figures.short($0)) µs a message" },
                process.cpuMicrosecondsPerConnect.map { ", \(Figures.short($0)) µs a connect" },
                process.countedPerMessage.map { ", \(Figures.short($0)) counted a message" },
            ].compactMap(\.self).joined()
            return (
                name,
                "\(Figures.short(process.cpuPercent)) % CPU\(each); \(memory[0]) → \(memory[1]) MiB, at most \(memory[2])"
            )
        }
    }

    private var errorRows: [Row] {
        guard !errors.isEmpty else { return [("errors", "none")] }
        return errors.sorted { $0.key < $1.key }.map { kind, count in
            ("error \(kind)", "\(count)" + (tolerated.contains(kind) ? " (tolerated)" : ""))
        }
    }
}

/// Readable numbers.
enum Figures {
    /// About three digits: 0.123, 12.3, 1234.
    static func short(_ value: Double) -> String {
        switch abs(value) {
        case 100...: String(format: "%.0f", value)
        case 10..<100: String(format: "%.1f", value)
        case 1..<10: String(format: "%.2f", value)
        default: String(format: "%.3f", value)
        }
    }

    /// - Parameter microseconds: shown in a suitable unit.
    static func time(_ microseconds: Double) -> String {
        switch microseconds {
        case 1e6...: short(microseconds / 1e6) + " s"
        case 1e3...: short(microseconds / 1e3) + " ms"
        default: short(microseconds) + " µs"
        }
    }

    static func latency(_ summary: LatencySummary?) -> String {
        guard let summary else { return "–" }
        return [
            ("p50", summary.p50), ("p90", summary.p90), ("p99", summary.p99), ("p99.9", summary.p999),
            ("max", summary.max),
        ].map { "\($0) \(time($1))" }.joined(separator: " · ")
    }
}
