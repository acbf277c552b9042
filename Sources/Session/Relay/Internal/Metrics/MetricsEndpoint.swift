import PrometheusText
import Reactors
import WireText

/// `/metrics`: the gateway's metrics, for Prometheus. The answer is made on a thread of its own.
struct MetricsEndpoint: InternalEndpoint {
    let inspection: GatewayInspection
    let pending: PendingWork

    /// Answers that are made or wait at once; one Prometheus waits for one.
    private static let maximum = 8

    static func makePending() -> PendingWork { PendingWork("metrics", threads: 1, maximum: maximum) }

    func handle(_ exchange: InternalExchange) -> Bool {
        guard exchange.path.hasSameBytes(as: "/metrics") else { return false }
        guard isRead(exchange) else { return true }
        guard pending.begin() else {
            exchange.respond(HTTPAnswer(status: 503, headers: [("Retry-After", "1")]))
            return true
        }
        let format = ExpositionFormat(accept: exchange.head.text("accept"))
        let reactor = exchange.reactor
        let pinned = Pinned(exchange, to: reactor)
        Task(executorPreference: pending.threads) { [inspection, pending] in
            let body = inspection.exposition(format)
            reactor.submit {
                pinned.value.respond(Self.answer(body, format))
                pending.end()
            }
        }
        return true
    }

    private static func answer(_ body: [UInt8], _ format: ExpositionFormat) -> HTTPAnswer {
        HTTPAnswer(
            status: 200,
            headers: [("Content-Type", format.contentType), ("Cache-Control", "no-store"), ("Vary", "Accept")],
            body: body)
    }
}
