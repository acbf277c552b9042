/// Writes the answer to a scrape. Families without a series are left out; their order is the registry's.
extension MetricRegistry {
    /// Bytes of all observations of one answer; what is beyond is left out.
    package static let maximumObservedBytes = 65_536

    /// - Parameter observations: values of families that aren't counted here.
    package func exposition(_ format: ExpositionFormat, adding observations: [MetricObservation] = []) -> [UInt8] {
        let observed = Dictionary(grouping: observations, by: \.name)
        var room = Self.maximumObservedBytes
        var writer = ExpositionWriter(format)
        for family in families {
            writer.begin(family)
            for series in series(of: family.name) { writer.write(series, of: family) }
            for observation in observed[family.name] ?? [] {
                let text = SeriesText(name: family.name, observation.dimensions)
                room -= text.bytes
                guard room >= 0 else { break }
                writer.write(text, observation.value)
            }
        }
        return writer.finish()
    }
}

/// The lines of both formats (Prometheus "Exposition formats"; OpenMetrics 1.0).
private struct ExpositionWriter {
    private let format: ExpositionFormat
    private var text = ""
    /// The header of a family is written before its first series.
    private var header: MetricFamily?

    init(_ format: ExpositionFormat) {
        self.format = format
        text.reserveCapacity(16_384)
    }

    mutating func begin(_ family: MetricFamily) { header = family }

    mutating func finish() -> [UInt8] {
        if format == .openMetrics { text += "# EOF\n" }
        return Array(text.utf8)
    }

    mutating func write(_ series: MetricRegistry.Series, of family: MetricFamily) {
        switch series.cell {
        case .counter(let cell): line(series.text, "\(cell.value)")
        case .gauge(let cell): write(series.text, cell.value)
        case .histogram(let cell): write(series.text, cell)
        }
    }

    mutating func write(_ series: SeriesText, _ value: Double) { line(series, Self.number(value)) }

    /// Buckets are cumulative.
    private mutating func write(_ series: SeriesText, _ cell: HistogramCell) {
        let snapshot = cell.snapshot
        var below: UInt64 = 0
        for (bound, count) in zip(cell.bounds.map(Self.bound) + ["+Inf"], snapshot.counts) {
            below &+= count
            line(series, suffix: "_bucket", bound: bound, "\(below)")
        }
        line(series, suffix: "_sum", Self.number(snapshot.sum))
        line(series, suffix: "_count", "\(below)")
    }

    private mutating func line(_ series: SeriesText, suffix: String = "", bound: String? = nil, _ value: String) {
        writeHeader()
        text += series.name
        text += suffix
        let labels = [series.labels, bound.map { "le=\"\($0)\"" } ?? ""].filter { !$0.isEmpty }
        if !labels.isEmpty { text += "{" + labels.joined(separator: ",") + "}" }
        text += " "
        text += value
        text += "\n"
    }

    private mutating func writeHeader() {
        guard let family = header else { return }
        header = nil
        let name = format == .openMetrics ? family.base : family.name
        text += "# HELP \(name) \(escapedHelp(family.help))\n# TYPE \(name) \(family.typeName(format))\n"
        if format == .openMetrics, let unit = family.unit { text += "# UNIT \(name) \(unit.rawValue)\n" }
    }

    /// OpenMetrics escapes a quote in help texts too.
    private func escapedHelp(_ help: String) -> String {
        let text = help.replacing("\\", with: #"\\"#).replacing("\n", with: #"\n"#)
        return format == .openMetrics ? text.replacing("\"", with: #"\""#) : text
    }

    private static func bound(_ value: Double) -> String { "\(value)" }

    /// Whole numbers without a fraction, as long as a Double has them exactly.
    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        guard value.rounded() == value, abs(value) < 9_007_199_254_740_992 else { return "\(value)" }
        return "\(Int64(value))"
    }
}
