package import CoreMetrics
import Synchronization

/// Counts what operators watch, on the way to the metrics' backend: the console and `portcullis top` work without one.
/// Safe from any thread.
///
/// Bounded like the metrics: all labels are constants of the program.
package final class ActivityTally: MetricsFactory {
    /// A counter's name, its labels' values by name, and its value.
    package struct Entry: Sendable, Equatable {
        package let name: GatewayMetrics.Name
        package let labels: [String: String]
        package let value: Int
    }

    private static let names: Set<GatewayMetrics.Name> = [
        .gateDecisions, .registrations, .tokens, .requestsRefused, .connectionsAccepted, .connectionsRefused,
        .sessionsOpened, .sessionsEnded, .bytes,
    ]

    private let backend: any MetricsFactory
    private let counters = Mutex<[TallyCounter]>([])

    package init(_ backend: any MetricsFactory) {
        self.backend = backend
    }

    package var entries: [Entry] {
        counters.withLock { $0 }.map { Entry(name: $0.name, labels: $0.labels, value: $0.value) }
    }

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        let handler = backend.makeCounter(label: label, dimensions: dimensions)
        guard let name = GatewayMetrics.Name(rawValue: label), Self.names.contains(name) else { return handler }
        let labels = Dictionary(dimensions) { first, _ in first }
        return counters.withLock { counters in
            if let known = counters.first(where: { $0.name == name && $0.labels == labels }) { return known }
            let counter = TallyCounter(name, labels, handler)
            counters.append(counter)
            return counter
        }
    }

    package func destroyCounter(_ handler: any CounterHandler) {
        backend.destroyCounter((handler as? TallyCounter)?.handler ?? handler)
    }

    // MARK: Passed on

    package func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        backend.makeFloatingPointCounter(label: label, dimensions: dimensions)
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        backend.makeMeter(label: label, dimensions: dimensions)
    }

    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        backend.makeRecorder(label: label, dimensions: dimensions, aggregate: aggregate)
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        backend.makeTimer(label: label, dimensions: dimensions)
    }

    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {
        backend.destroyFloatingPointCounter(handler)
    }

    package func destroyMeter(_ handler: any MeterHandler) { backend.destroyMeter(handler) }
    package func destroyRecorder(_ handler: any RecorderHandler) { backend.destroyRecorder(handler) }
    package func destroyTimer(_ handler: any TimerHandler) { backend.destroyTimer(handler) }
}

private final class TallyCounter: CounterHandler {
    let name: GatewayMetrics.Name
    let labels: [String: String]
    let handler: any CounterHandler
    private let count = Atomic(0)

    init(_ name: GatewayMetrics.Name, _ labels: [String: String], _ handler: any CounterHandler) {
        self.name = name
        self.labels = labels
        self.handler = handler
    }

    var value: Int { count.load(ordering: .relaxed) }

    func increment(by amount: Int64) {
        count.wrappingAdd(Int(amount), ordering: .relaxed)
        handler.increment(by: amount)
    }

    func reset() { handler.reset() }
}
