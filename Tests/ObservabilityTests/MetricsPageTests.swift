import Foundation
import Observability
import PrometheusText
import Testing

/// What docs/METRICS.md, the alerts and the dashboard say about metrics, compared with the code.
@Suite struct MetricsPageTests {
    private static func text(_ path: String) throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// Name, type and meaning of each row of the table.
    private static func rows() throws -> [[String]] {
        try text("docs/METRICS.md").split(separator: "\n")
            .filter { $0.hasPrefix("| `portcullis_") || $0.hasPrefix("| `process_") }.map { line in
                let cells = line.split(separator: "|").map {
                    $0.trimmingCharacters(in: .whitespaces).replacingOccurrences(of: "`", with: "")
                }
                return [cells[0], cells[1], cells[3]]
            }
    }

    private static func type(_ family: MetricFamily) -> String {
        switch family.kind {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        case .info: "info"
        }
    }

    @Test func `METRICS md has every metric with its type and help text and no other`() throws {
        #expect(try Self.rows() == MetricName.families.map { [$0.name, Self.type($0), $0.help] })
    }

    @Test(arguments: ["config/prometheus-alerts.yml", "config/grafana-dashboard.json", "docs/METRICS.md"])
    func `every metric that is named there is one of the gateway's`(path: String) throws {
        let histograms = Set(MetricName.families.filter { Self.type($0) == "histogram" }.map(\.name))
        let names = try Self.text(path).matches(of: /\b(?:portcullis|process)_[a-z_]+\b/).map { String($0.0) }
        #expect(names.count >= 15)
        for name in Set(names) {
            let suffix = ["_bucket", "_sum", "_count"].first { name.hasSuffix($0) }
            let base = suffix.map { String(name.dropLast($0.count)) }
            let isKnown = MetricName(rawValue: name) != nil || base.map(histograms.contains) == true
            #expect(isKnown, "\(name)")
        }
    }

    @Test func `the dashboard is JSON whose panels have titles and expressions`() throws {
        struct Dashboard: Decodable {
            struct Panel: Decodable {
                struct Target: Decodable { let expr: String }
                let type: String
                let title: String
                let targets: [Target]?
            }
            let title: String
            let uid: String
            let panels: [Panel]
        }
        let text = try Self.text("config/grafana-dashboard.json")
        let dashboard = try JSONDecoder().decode(Dashboard.self, from: Data(text.utf8))
        #expect(dashboard.uid == "portcullis" && dashboard.panels.count > 20)
        for panel in dashboard.panels where panel.type != "row" {
            #expect(!panel.title.isEmpty && panel.targets?.isEmpty == false)
        }
        let shown = dashboard.panels.flatMap { $0.targets ?? [] }.map(\.expr).joined(separator: " ")
        #expect(MetricName.allCases.filter { !shown.contains($0.rawValue) } == [])
    }

    @Test func `names follow the conventions of Prometheus`() {
        for family in MetricName.families {
            #expect(family.name.hasSuffix("_total") == (family.kind == .counter), "\(family.name)")
            #expect(family.help.hasSuffix("."), "\(family.name)")
            #expect(!family.name.contains("millisecond") && !family.name.contains("_ms"), "\(family.name)")
        }
        #expect(Set(MetricName.families.map(\.name)).count == MetricName.allCases.count)
    }
}
