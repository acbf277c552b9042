import Metrics
import Testing

@testable import PrometheusText

/// What Prometheus reads.
@Suite struct ExpositionTests {
    private let registry = MetricRegistry([
        MetricFamily("a_total", .counter, "Counts \"a\".\nTwo \\ lines."),
        MetricFamily("b_bytes", .gauge, "Bytes."),
        MetricFamily("c_seconds", .histogram(bounds: [0.1, 1]), "Times."),
        MetricFamily("d_info", .info, "Which one."),
        MetricFamily("unused", .gauge, "Never set."),
    ])

    private func text(_ format: ExpositionFormat, _ observations: [MetricObservation] = []) -> String {
        String(decoding: registry.exposition(format, adding: observations), as: UTF8.self)
    }

    private func feed() {
        let counter = Counter(label: "a_total", dimensions: [("x", "1"), ("y", "q\"\\\n")], factory: registry)
        counter.increment(by: 2)
        counter.increment()
        Meter(label: "b_bytes", factory: registry).set(1.5)
        let timer = Timer(label: "c_seconds", dimensions: [("x", "1")], factory: registry)
        timer.recordNanoseconds(100_000_000)
        timer.recordNanoseconds(500_000_000)
        timer.recordNanoseconds(2_000_000_000)
    }

    @Test func `the text format has help, types and samples`() {
        feed()
        let info = MetricObservation("d_info", [MetricDimension("version", "1")], 1)
        #expect(
            text(.text, [info]) == """
                # HELP a_total Counts "a".\\nTwo \\\\ lines.
                # TYPE a_total counter
                a_total{x="1",y="q\\"\\\\\\n"} 3
                # HELP b_bytes Bytes.
                # TYPE b_bytes gauge
                b_bytes 1.5
                # HELP c_seconds Times.
                # TYPE c_seconds histogram
                c_seconds_bucket{x="1",le="0.1"} 1
                c_seconds_bucket{x="1",le="1.0"} 2
                c_seconds_bucket{x="1",le="+Inf"} 3
                c_seconds_sum{x="1"} 2.6
                c_seconds_count{x="1"} 3
                # HELP d_info Which one.
                # TYPE d_info gauge
                d_info{version="1"} 1

                """)
    }

    @Test func `OpenMetrics has names without suffixes, units, information and an end`() {
        feed()
        let info = MetricObservation("d_info", [MetricDimension("version", "1")], 1)
        #expect(
            text(.openMetrics, [info]) == """
                # HELP a Counts \\"a\\".\\nTwo \\\\ lines.
                # TYPE a counter
                a_total{x="1",y="q\\"\\\\\\n"} 3
                # HELP b_bytes Bytes.
                # TYPE b_bytes gauge
                # UNIT b_bytes bytes
                b_bytes 1.5
                # HELP c_seconds Times.
                # TYPE c_seconds histogram
                # UNIT c_seconds seconds
                c_seconds_bucket{x="1",le="0.1"} 1
                c_seconds_bucket{x="1",le="1.0"} 2
                c_seconds_bucket{x="1",le="+Inf"} 3
                c_seconds_sum{x="1"} 2.6
                c_seconds_count{x="1"} 3
                # HELP d Which one.
                # TYPE d info
                d_info{version="1"} 1
                # EOF

                """)
    }

    @Test func `an empty registry is an empty answer`() {
        #expect(text(.text) == "" && text(.openMetrics) == "# EOF\n")
    }

    @Test(arguments: [
        (0.0, "0"), (-3.0, "-3"), (0.25, "0.25"), (1e20, "1e+20"), (Double.infinity, "+Inf"),
        (-Double.infinity, "-Inf"),
        (Double.nan, "NaN"),
    ])
    func `numbers are written as both formats read them`(value: Double, written: String) {
        #expect(text(.text, [MetricObservation("b_bytes", [], value)]).hasSuffix("b_bytes \(written)\n"))
    }

    @Test(arguments: [
        (nil, ExpositionFormat.text), ("", .text), ("text/plain", .text), ("text/plain;version=0.0.4", .text),
        ("application/openmetrics-text", .openMetrics), ("application/openmetrics-text; version=1.0.0", .openMetrics),
        ("Application/OpenMetrics-Text; Version=\"1.0.0\"", .openMetrics),
        ("application/openmetrics-text;version=2.0.0", .text), ("application/openmetrics-text;q=0", .text),
        ("text/plain;q=0.5,application/openmetrics-text;q=0.4", .text),
        ("text/plain;q=0.5,application/openmetrics-text;q=0.6", .openMetrics),
        ("application/openmetrics-text;q=2", .text), ("application/openmetrics-text;q=nan", .text),
        ("*/*", .text), ("text/html", .text), (",;=,;;q", .text),
        // Prometheus 2.42.
        (
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            .openMetrics
        ),
        ("text/plain;version=0.0.4;q=1,*/*;q=0.1", .text),
    ])
    func `the format is chosen by Accept`(accept: String?, format: ExpositionFormat) {
        #expect(ExpositionFormat(accept: accept) == format)
    }
}
