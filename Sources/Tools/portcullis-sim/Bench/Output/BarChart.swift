import Foundation

/// Horizontal bars on a common scale, as part of an SVG drawing.
struct BarChart: Sendable {
    struct Bar: Sendable {
        let label: String
        let spread: Spread
        /// Our bars are highlighted.
        let isOurs: Bool
    }

    let title: String
    /// The unit of the scale.
    let unit: String
    let bars: [Bar]

    static let width = 900.0
    private static let labelWidth = 330.0
    private static let valueWidth = 90.0
    private static let barHeight = 18.0
    private static let barPitch = 26.0
    private static let headHeight = 34.0
    private static let axisHeight = 44.0

    var height: Double { Self.headHeight + Double(bars.count) * Self.barPitch + Self.axisHeight }

    /// A complete drawing with the charts below each other.
    static func page(_ title: String, _ charts: [BarChart]) -> String {
        var top = 56.0
        var body = text(title, x: 16, y: 32, size: 18, weight: "bold")
        for chart in charts {
            body += chart.svg(top: top)
            top += chart.height + 12
        }
        let height = number(top + 8)
        return """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(number(width))" height="\(height)" \
            viewBox="0 0 \(number(width)) \(height)" font-family="system-ui, sans-serif" font-size="13">
            <rect width="100%" height="100%" fill="#ffffff"/>
            \(body)</svg>

            """
    }

    func svg(top: Double) -> String {
        let scale = Self.scale(upTo: bars.map(\.spread.most).max() ?? 0)
        let room = Self.width - Self.labelWidth - Self.valueWidth
        func x(_ value: Double) -> Double { Self.labelWidth + value / scale.end * room }
        let bottom = top + Self.headHeight + Double(bars.count) * Self.barPitch
        var svg = Self.text(title, x: 16, y: top + 20, size: 14, weight: "bold")
        for tick in scale.ticks {
            svg += Self.line(x(tick), top + Self.headHeight - 4, x(tick), bottom, "#dddddd")
            svg += Self.text(Figures.tick(tick), x: x(tick), y: bottom + 16, size: 11, anchor: "middle")
        }
        svg += Self.text(unit, x: x(scale.end / 2), y: bottom + 34, size: 12, anchor: "middle")
        for (index, bar) in bars.enumerated() {
            let y = top + Self.headHeight + Double(index) * Self.barPitch
            svg += draw(bar, y: y, x: x)
        }
        return svg
    }

    private func draw(_ bar: Bar, y: Double, x: (Double) -> Double) -> String {
        let middle = y + Self.barHeight / 2
        let color = bar.isOurs ? "#1f6feb" : "#9aa4b2"
        var svg = Self.text(bar.label, x: Self.labelWidth - 10, y: middle + 4, size: 12, anchor: "end")
        svg += """
            <rect x="\(Self.number(x(0)))" y="\(Self.number(y))" width="\(Self.number(max(x(bar.spread.median) - x(0), 0.5)))" \
            height="\(Self.number(Self.barHeight))" fill="\(color)"/>

            """
        if bar.spread.rounds > 1 {
            svg += Self.line(x(bar.spread.least), middle, x(bar.spread.most), middle, "#333333")
            for end in [bar.spread.least, bar.spread.most] {
                svg += Self.line(x(end), middle - 4, x(end), middle + 4, "#333333")
            }
        }
        return svg
            + Self.text(Figures.short(bar.spread.median), x: x(bar.spread.most) + 8, y: middle + 4, size: 12)
    }

    /// - Returns: a round end and the axis labels: at most six steps of 1, 2 or 5 times a power of ten.
    static func scale(upTo value: Double) -> (end: Double, ticks: [Double]) {
        guard value > 0, value.isFinite else { return (1, [0, 1]) }
        let power = pow(10, floor(log10(value / 5)))
        let step = [1, 2, 5, 10].map { $0 * power }.first { value / $0 <= 5.0001 } ?? 10 * power
        let count = max(Int((value / step).rounded(.up)), 1)
        return (Double(count) * step, (0...count).map { Double($0) * step })
    }

    // MARK: Elements

    private static func text(
        _ text: String, x: Double, y: Double, size: Int, weight: String = "normal", anchor: String = "start"
    ) -> String {
        """
        <text x="\(number(x))" y="\(number(y))" font-size="\(size)" font-weight="\(weight)" text-anchor="\(anchor)">\
        \(escaped(text))</text>

        """
    }

    private static func line(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ color: String) -> String {
        """
        <line x1="\(number(x1))" y1="\(number(y1))" x2="\(number(x2))" y2="\(number(y2))" stroke="\(color)"/>

        """
    }

    private static func number(_ value: Double) -> String { String(format: "%.1f", value) }

    static func escaped(_ text: String) -> String {
        text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
            .replacingOccurrences(of: ">", with: "&gt;")
    }
}

extension Figures {
    /// An axis label without meaningless digits.
    static func tick(_ value: Double) -> String { String(format: "%g", value) }
}

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
        return BarChart.page("Portcullis and others: median, minimum and maximum of the rounds", charts)
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
