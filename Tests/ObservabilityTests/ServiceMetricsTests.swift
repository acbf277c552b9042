import Metrics
import MetricsTestKit
import Observability
import Testing

/// What connections, sessions, targets and the store count.
@Suite struct ServiceMetricsTests {
    private enum Dialect: String, MetricLabel {
        case raw, json
    }

    private let backend = TestMetrics()
    private let metrics: GatewayMetrics

    init() { metrics = GatewayMetrics(factory: backend) }

    private func sessions(_ dialect: String, _ route: String) throws -> Double? {
        try backend.expectMeter("portcullis_route_sessions", [("dialect", dialect), ("route", route)]).lastValue
    }

    @Test func `a session is counted where it is and nowhere after its end`() throws {
        let (raw, json) = (
            SessionPlace(dialect: Dialect.raw, configuredRoute: "live"),
            SessionPlace(dialect: Dialect.json, configuredRoute: "live")
        )
        metrics.sessionMoved(from: nil, to: raw)
        metrics.sessionMoved(from: nil, to: raw)
        metrics.sessionMoved(from: raw, to: raw)
        #expect(try sessions("raw", "live") == 2)
        metrics.sessionMoved(from: raw, to: json)
        #expect(try sessions("raw", "live") == 1 && sessions("json", "live") == 1)
        metrics.sessionMoved(from: raw, to: nil)
        metrics.sessionMoved(from: json, to: nil)
        metrics.sessionMoved(from: nil, to: nil)
        #expect(try sessions("raw", "live") == 0 && sessions("json", "live") == 0)
    }

    @Test func `totals with known labels are there before their first event`() throws {
        #expect(try backend.expectCounter("portcullis_audit_lines_lost_total").totalValue == 0)
        for outcome in DialOutcome.allCases {
            let name = "portcullis_target_dials_total"
            #expect(try backend.expectCounter(name, [("outcome", outcome.rawValue)]).totalValue == 0)
        }
        #expect(backend.counters(label: "portcullis_store_failures_total").count == 12)
    }

    @Test func `the time of a dial is kept if it succeeded`() throws {
        metrics.dialled(.notConnected, nanoseconds: 5)
        metrics.dialled(.connected, nanoseconds: 7)
        #expect(try backend.expectTimer("portcullis_target_dial_seconds").values == [7])
        let name = "portcullis_target_dials_total"
        #expect(try backend.expectCounter(name, [("outcome", "not_connected")]).totalValue == 1)
        #expect(try backend.expectCounter(name, [("outcome", "connected")]).totalValue == 1)
    }

    @Test func `times are kept by outcome and by kind of call`() throws {
        metrics.answeredUpgrade(.admitted, nanoseconds: 1)
        metrics.answeredUpgrade(.refused, nanoseconds: .max)
        let name = "portcullis_admission_seconds"
        #expect(try backend.expectTimer(name, [("outcome", "admitted")]).values == [1])
        #expect(try backend.expectTimer(name, [("outcome", "refused")]).values == [.max])
        metrics.storeCalled(.gate, nanoseconds: 3)
        #expect(try backend.expectTimer("portcullis_store_operation_seconds", [("operation", "gate")]).values == [3])
    }
}
