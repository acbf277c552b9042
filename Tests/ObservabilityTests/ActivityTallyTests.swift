import MetricsTestKit
import Observability
import Testing

/// What the console and `portcullis top` count.
struct ActivityTallyTests {
    private enum Reason: String, MetricLabel {
        case late
        case none
    }

    @Test func `what is watched is counted, and the backend counts it too`() throws {
        let backend = TestMetrics()
        let metrics = GatewayMetrics(factory: backend)
        for _ in 0..<3 { metrics.requestRefused(reason: Reason.late) }
        metrics.relayed(700, .fromClient)
        metrics.relayed(11, .toClient)
        metrics.sessionOpened()
        metrics.auditLineLost()
        let entries = metrics.tally.entries
        func value(_ name: GatewayMetrics.Name, _ labels: [String: String] = [:]) -> Int? {
            entries.first { $0.name == name && $0.labels == labels }?.value
        }
        #expect(value(.requestsRefused, ["reason": "late"]) == 3 && value(.sessionsOpened) == 1)
        #expect(value(.bytes, ["direction": "from_client"]) == 700)
        #expect(value(.bytes, ["direction": "to_client"]) == 11)
        #expect(value(.auditLinesLost) == nil, "nobody watches it")
        let counter = try backend.expectCounter(GatewayMetrics.Name.requestsRefused.rawValue, [("reason", "late")])
        #expect(counter.totalValue == 3)
    }

    @Test func `many threads lose no count`() async {
        let metrics = GatewayMetrics(factory: TestMetrics())
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<500 { metrics.requestRefused(reason: Reason.none) }
                }
            }
        }
        #expect(metrics.tally.entries.filter { $0.name == .requestsRefused }.map(\.value) == [4_000])
    }
}
