import Metrics
import MetricsTestKit
import Observability
import Testing

@Suite struct GatewayMetricsTests {
    private enum Method: String, MetricLabel {
        case appAttest = "app_attest"
        case debugCertificate = "debug_certificate"
    }

    private enum Reason: String, MetricLabel {
        case unknownKey = "unknown_key"
        case other
    }

    private let backend = TestMetrics()

    @Test func `decisions are counted by method, outcome and reason`() throws {
        let metrics = GatewayMetrics(factory: backend)
        metrics.decided(.refused, by: Method.appAttest, reason: Reason.unknownKey)
        metrics.decided(.refused, by: Method.appAttest, reason: Reason.unknownKey)
        metrics.decided(.refused, by: Method.appAttest, reason: Reason.other)
        metrics.decided(.admitted, by: Method.debugCertificate, reason: NoReason.none)
        let name = "portcullis_gate_decisions_total"
        func count(_ way: String, _ outcome: String, _ reason: String) throws -> Int64 {
            try backend.expectCounter(name, [("way", way), ("outcome", outcome), ("reason", reason)]).totalValue
        }
        #expect(try count("app_attest", "refused", "unknown_key") == 2)
        #expect(try count("app_attest", "refused", "other") == 1)
        #expect(try count("debug_certificate", "admitted", "none") == 1)
        #expect(backend.counters(label: name).count == 3)
    }

    @Test func `open connections and sessions are counted up and down`() throws {
        let metrics = GatewayMetrics(factory: backend)
        #expect(try backend.expectMeter("portcullis_sessions_open").lastValue == 0)
        metrics.sessionOpened()
        metrics.sessionOpened()
        metrics.sessionEnded(NoReason.none)
        metrics.connectionOpened()
        metrics.connectionClosed()
        #expect(try backend.expectMeter("portcullis_sessions_open").lastValue == 1)
        #expect(try backend.expectMeter("portcullis_connections_open").lastValue == 0)
        #expect(try backend.expectCounter("portcullis_sessions_opened_total").totalValue == 2)
        #expect(try backend.expectCounter("portcullis_sessions_ended_total", [("reason", "none")]).totalValue == 1)
    }

    @Test func `bytes are counted by direction`() throws {
        let metrics = GatewayMetrics(factory: backend)
        metrics.relayed(100, .fromClient)
        metrics.relayed(20, .toClient)
        metrics.relayed(3, .toClient)
        func total(_ direction: String) throws -> Int64 {
            try backend.expectCounter("portcullis_bytes_total", [("direction", direction)]).totalValue
        }
        #expect(try total("from_client") == 100)
        #expect(try total("to_client") == 23)
    }

    @Test func `names and label values are valid for an exporter`() {
        func isFit(_ text: String) -> Bool {
            !text.isEmpty && text.allSatisfy { "abcdefghijklmnopqrstuvwxyz_".contains($0) }
        }
        #expect(
            GatewayMetrics.Name.allCases.allSatisfy {
                isFit($0.rawValue) && ($0.rawValue.hasPrefix("portcullis_") || $0.rawValue.hasPrefix("process_"))
            })
        #expect(ConnectionRefusal.allCases.allSatisfy { isFit($0.rawValue) })
    }
}
