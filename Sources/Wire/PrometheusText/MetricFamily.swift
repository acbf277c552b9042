/// What one name of a metric means: its type, its help text and its unit. Written once, beside the code that counts.
package struct MetricFamily: Sendable {
    package enum Kind: Sendable, Hashable {
        /// Its name ends with `_total`.
        case counter
        case gauge
        /// - Parameter bounds: the upper bounds of the buckets, ascending, without infinity.
        case histogram(bounds: [Double])
        /// The constant 1; its labels are what it says. Its name ends with `_info`.
        case info
    }

    /// Base units, as Prometheus and OpenMetrics write them.
    package enum Unit: String, Sendable, CaseIterable {
        case seconds, bytes, ratio
    }

    /// As Prometheus shows it.
    package let name: String
    package let kind: Kind
    package let help: String
    /// If there is one, the name contains it.
    package let unit: Unit?

    package init(_ name: String, _ kind: Kind, _ help: String) {
        self.name = name
        self.kind = kind
        self.help = help
        let base = Self.base(of: name, kind)
        unit = Unit.allCases.first { base.hasSuffix("_\($0.rawValue)") }
    }

    /// OpenMetrics names the family without the suffix of its samples (1.0, "MetricFamily").
    var base: String { Self.base(of: name, kind) }

    private static func base(of name: String, _ kind: Kind) -> String {
        let suffix =
            switch kind {
            case .counter: "_total"
            case .info: "_info"
            case .gauge, .histogram: ""
            }
        return name.hasSuffix(suffix) ? String(name.dropLast(suffix.count)) : name
    }

    /// The word of `# TYPE`. The text format 0.0.4 has no type for information.
    func typeName(_ format: ExpositionFormat) -> String {
        switch kind {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        case .info: format == .openMetrics ? "info" : "gauge"
        }
    }
}

/// A label and its value.
package struct MetricDimension: Sendable, Hashable {
    package let name: String
    package let value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// One number that was read for this answer, rather than counted in the registry.
package struct MetricObservation: Sendable {
    package let name: String
    package let dimensions: [MetricDimension]
    package let value: Double

    package init(_ name: String, _ dimensions: [MetricDimension], _ value: Double) {
        self.name = name
        self.dimensions = dimensions
        self.value = value
    }
}
