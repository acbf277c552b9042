package import CoreMetrics
import Synchronization

/// The gateway's metrics backend: counts in memory, and writes what Prometheus reads. Safe from any thread.
///
/// It knows the families that it was made with. What swift-metrics asks for by another name, or as another type, is
/// counted and never shown. Two requests for the same name and labels get the same cell.
///
/// Its answer is bounded: a series that would exceed `maximumBytes` is counted in no cell of its own and never shown.
/// `droppedSeries` says how many there were.
package final class MetricRegistry: MetricsFactory {
    /// Bytes of all series of counters, gauges and histograms together. Below `InternalConnection.maximumQueuedBytes`,
    /// with room for the help texts and for observations.
    package static let maximumBytes = 131_072
    /// Bytes of a label's value; a longer one is cut.
    package static let maximumValueBytes = 64

    package let families: [MetricFamily]
    private let state: Mutex<State>

    enum Cell {
        case counter(CounterCell)
        case gauge(GaugeCell)
        case histogram(HistogramCell)
    }

    struct Series {
        let text: SeriesText
        let cell: Cell
    }

    private struct State {
        var series: [String: [Series]] = [:]
        var index: [SeriesText: Cell] = [:]
        var bytes = 0
        var dropped = 0
    }

    private let kinds: [String: MetricFamily.Kind]

    /// - Parameter families: each name once, in the order of the answer.
    package init(_ families: [MetricFamily]) {
        self.families = families
        kinds = Dictionary(families.map { ($0.name, $0.kind) }) { first, _ in first }
        state = Mutex(State())
    }

    /// Series that there was no room for.
    package var droppedSeries: Int { state.withLock { $0.dropped } }

    func series(of name: String) -> [Series] { state.withLock { $0.series[name] ?? [] } }

    /// The cell of these labels, made by the first request.
    ///
    /// - Returns: nil if there is no room.
    private func cell(_ label: String, _ dimensions: [(String, String)], _ make: () -> Cell) -> Cell? {
        let text = SeriesText(name: label, dimensions.map { MetricDimension($0.0, $0.1) })
        return state.withLock { state in
            if let known = state.index[text] { return known }
            let cell = make()
            let bytes = text.bytes * cell.lines
            guard state.bytes + bytes <= Self.maximumBytes else {
                state.dropped += 1
                return nil
            }
            state.bytes += bytes
            state.index[text] = cell
            state.series[label, default: []].append(Series(text: text, cell: cell))
            return cell
        }
    }

    private func histogram(_ label: String, _ dimensions: [(String, String)]) -> HistogramCell {
        guard case .histogram(let bounds) = kinds[label] else { return HistogramCell(bounds: []) }
        guard case .histogram(let cell) = cell(label, dimensions, { .histogram(HistogramCell(bounds: bounds)) })
        else { return HistogramCell(bounds: bounds) }
        return cell
    }

    private func gauge(_ label: String, _ dimensions: [(String, String)]) -> GaugeCell {
        guard kinds[label] == .gauge || kinds[label] == .info,
            case .gauge(let cell) = cell(label, dimensions, { .gauge(GaugeCell()) })
        else { return GaugeCell() }
        return cell
    }
}

// MARK: For swift-metrics

extension MetricRegistry {
    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        guard kinds[label] == .counter, case .counter(let cell) = cell(label, dimensions, { .counter(CounterCell()) })
        else { return CounterCell() }
        return cell
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        gauge(label, dimensions)
    }

    package func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        aggregate ? histogram(label, dimensions) : gauge(label, dimensions)
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        histogram(label, dimensions)
    }

    // Series live as long as the process: Prometheus takes a total that is gone for one that began again.
    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}
}

extension MetricRegistry.Cell {
    /// Of the answer.
    fileprivate var lines: Int {
        switch self {
        case .counter, .gauge: 1
        // Each bound, infinity, the count and the sum.
        case .histogram(let cell): cell.bounds.count + 3
        }
    }
}
