import Metrics
import Testing

@testable import PrometheusText

@Suite struct MetricRegistryTests {
    private let registry = MetricRegistry([
        MetricFamily("a_total", .counter, "A."), MetricFamily("g", .gauge, "G."),
        MetricFamily("h_seconds", .histogram(bounds: [1]), "H."),
    ])

    private var lines: [Substring] {
        String(decoding: registry.exposition(.text), as: UTF8.self).split(separator: "\n").filter {
            !$0.hasPrefix("#")
        }
    }

    @Test func `the same name and labels are one series`() {
        for _ in 0..<2 { Counter(label: "a_total", dimensions: [("x", "1")], factory: registry).increment() }
        Counter(label: "a_total", dimensions: [("x", "2")], factory: registry).increment(by: 5)
        #expect(lines == ["a_total{x=\"1\"} 2", "a_total{x=\"2\"} 5"])
    }

    @Test func `a total never falls and wraps rather than trap`() {
        let counter = Counter(label: "a_total", factory: registry)
        counter.increment(by: 3)
        counter.increment(by: -2)
        #expect(lines == ["a_total 3"])
        counter.increment(by: Int64.max)
        #expect(lines == ["a_total \(Int64.min + 2)"])
    }

    @Test func `a gauge is set, raised and lowered`() {
        let meter = Meter(label: "g", factory: registry)
        meter.set(5)
        meter.increment(by: 2.5)
        meter.decrement(by: 1)
        #expect(lines == ["g 6.5"])
        Recorder(label: "g", aggregate: false, factory: registry).record(7)
        #expect(lines == ["g 7"])
    }

    @Test func `a value on a bound is below it and no number is ignored`() {
        let recorder = Recorder(label: "h_seconds", aggregate: true, factory: registry)
        for value in [0.5, 1, 1.5, .nan, .infinity] { recorder.record(value) }
        #expect(
            lines == [
                "h_seconds_bucket{le=\"1.0\"} 2", "h_seconds_bucket{le=\"+Inf\"} 3", "h_seconds_sum 3",
                "h_seconds_count 3",
            ])
    }

    @Test func `what isn't described or is of another type isn't shown`() {
        Counter(label: "unknown_total", factory: registry).increment()
        Counter(label: "g", factory: registry).increment()
        Meter(label: "a_total", factory: registry).set(1)
        Timer(label: "a_total", factory: registry).recordNanoseconds(1)
        #expect(lines.isEmpty)
    }

    @Test func `series beyond the limit are counted and left out`() throws {
        // Each has the size of the longest line that its value allows.
        let value = String(repeating: "\"", count: MetricRegistry.maximumValueBytes)
        let each = SeriesText(name: "a_total", [MetricDimension("x", value)]).bytes
        let room = MetricRegistry.maximumBytes / each
        for number in 0..<room + 3 {
            let label = "\(number)" + value
            Counter(label: "a_total", dimensions: [("x", String(label.prefix(value.count)))], factory: registry)
                .increment()
        }
        let kept = lines.count
        #expect((room...room + 50).contains(kept))
        #expect(registry.droppedSeries == max(0, room + 3 - kept))
        for number in 0..<100 {
            Counter(label: "a_total", dimensions: [("y", "\(number)" + value)], factory: registry).increment()
        }
        #expect(registry.droppedSeries > 0 && lines.count < kept + 100)
        #expect(registry.exposition(.text).count <= MetricRegistry.maximumBytes + 100)
    }

    @Test func `a long value of a label is cut at a whole character`() {
        let limit = MetricRegistry.maximumValueBytes
        for (label, value) in [
            ("x", String(repeating: "a", count: limit)), ("y", String(repeating: "a", count: limit - 1) + "ü"),
        ] {
            Counter(label: "a_total", dimensions: [(label, value)], factory: registry).increment()
        }
        #expect(
            lines == [
                "a_total{x=\"\(String(repeating: "a", count: limit))\"} 1",
                "a_total{y=\"\(String(repeating: "a", count: limit - 1))\"} 1",
            ])
    }

    @Test func `observations beyond the limit are left out`() {
        let many = (0..<5_000).map { MetricObservation("g", [MetricDimension("x", "\($0)")], 1) }
        let bytes = registry.exposition(.text, adding: many)
        #expect((1...MetricRegistry.maximumObservedBytes).contains(bytes.count))
    }

    @Test func `threads lose no count`() async {
        let counter = Counter(label: "a_total", factory: registry)
        let timer = Timer(label: "h_seconds", factory: registry)
        let meter = Meter(label: "g", factory: registry)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<1_000 {
                        counter.increment()
                        timer.recordNanoseconds(1_000_000_000)
                        meter.increment()
                    }
                }
            }
        }
        #expect(lines.contains("a_total 8000") && lines.contains("h_seconds_sum 8000") && lines.contains("g 8000"))
    }
}
