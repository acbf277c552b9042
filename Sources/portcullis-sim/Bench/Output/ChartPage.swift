/// The drawing of a benchmark, with the workloads on which goals depend.
extension BenchReport {
    var chart: String {
        let charts = [
            chart(
                "CPU per message", .cpuPerMessage, Cell.flood(bytes: 64, clients: 100, window: 1), without: .websockify),
            chart("CPU per message", .cpuPerMessage, Cell.flood(bytes: 64, clients: 100, window: 1)),
            chart("CPU per message", .cpuPerMessage, Cell.flood(bytes: 64, clients: 100, window: 4)),
            chart("CPU per message", .cpuPerMessage, Cell.flood(bytes: 64, clients: 100, window: 16)),
            chart("CPU per message", .cpuPerMessage, Cell.flood(bytes: 64, clients: 100, window: 16, isBurst: true)),
            chart("CPU per message", .cpuPerMessage, Cell.flood(bytes: 1_024, clients: 100, window: 1)),
            chart("CPU per message", .cpuPerMessage, Cell.flood(bytes: 16_384, clients: 100, window: 1)),
            chart("Latency, 99th percentile", .latencyP99, Cell.latency),
            works("CPU per connect", .cpuPerConnect),
            works("CPU per message of busy connections", .cpuPerMessage) {
                $0.contains("alone") || $0.contains("beside")
            },
            chart("Resident memory per session", .residentPerSession, Cell.idle),
        ].compactMap(\.self)
        return BarChart.page("Portcullis beside others: median, least and most of the rounds", charts)
    }

    /// The subjects below each other.
    private func chart(_ title: String, _ quantity: Quantity, _ work: String, without: Subject? = nil) -> BarChart? {
        let mine = figures.filter { $0.quantity == quantity && $0.work == work && $0.subject != without }
        guard !mine.isEmpty else { return nil }
        return BarChart(
            title: "\(title): \(work)", unit: "\(quantity.title) [\(quantity.unit)]",
            bars: mine.map { BarChart.Bar(label: $0.subject.title, spread: $0.found, isOurs: $0.subject.isOurs) })
    }

    /// The gateway's workloads below each other.
    private func works(_ title: String, _ quantity: Quantity, where isMeant: (String) -> Bool = { _ in true })
        -> BarChart?
    {
        let mine = figures.filter { $0.quantity == quantity && $0.subject == .portcullis && isMeant($0.work) }
        guard !mine.isEmpty else { return nil }
        return BarChart(
            title: title, unit: "\(quantity.title) [\(quantity.unit)]",
            bars: mine.map { BarChart.Bar(label: $0.work, spread: $0.found, isOurs: true) })
    }
}

extension Subject {
    var isOurs: Bool { self == .portcullis || self == .portcullisTyped }
}
