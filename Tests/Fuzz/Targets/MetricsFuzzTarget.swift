import CoreMetrics

@testable import PrometheusText

/// The fields that a scraper sends, and whatever a label's value may be.
let metricsFuzzTargets = [
    FuzzTarget("accept") { bytes in
        let format = ExpositionFormat(accept: text(bytes))
        let names = text(bytes).lowercased().contains("application/openmetrics-text")
        try require(format == .text || names, "only a client that names OpenMetrics gets it")
        try require(
            ExpositionFormat(accept: text(bytes) + ",text/plain;q=1") == format || format == .openMetrics,
            "another wish for text doesn't bring OpenMetrics")
    },
    FuzzTarget("label-value") { bytes in
        let registry = MetricRegistry([MetricFamily("a_total", .counter, "A.")])
        Counter(label: "a_total", dimensions: [("x", text(bytes))], factory: registry).increment()
        for format in ExpositionFormat.allCases {
            let lines = text(registry.exposition(format)).utf8.split(separator: UInt8(ascii: "\n"))
            let samples = lines.filter { $0.first != UInt8(ascii: "#") }
            try require(samples.count == 1, "a sample is one line")
            let line = text(samples[0])
            try require(line.hasPrefix("a_total{x=\"") && line.hasSuffix("\"} 1"), "a value stays in its quotes")
            let value = line.dropFirst("a_total{x=\"".count).dropLast("\"} 1".count)
            try require(value.utf8.count <= 2 * MetricRegistry.maximumValueBytes, "a value is bounded")
            var isEscaped = false
            for byte in value.utf8 {
                try require(isEscaped || byte != UInt8(ascii: "\""), "a quote is escaped")
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
            }
            try require(!isEscaped, "no escape is left open")
        }
    },
]
