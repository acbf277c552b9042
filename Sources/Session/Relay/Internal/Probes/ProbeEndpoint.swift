import Reactors
import WireText

/// `/livez` and `/readyz`: 200 if all checks are passed, otherwise 503 with the reasons. `?verbose` lists all checks as
/// text.
///
/// A supervisor may restart a gateway that isn't live. One that isn't ready should get no new clients, and keeps those
/// that it has.
struct ProbeEndpoint: InternalEndpoint {
    let inspection: GatewayInspection

    func handle(_ exchange: InternalExchange) -> Bool {
        switch exchange.path {
        case "/livez": answer(exchange, inspection.liveness, "live")
        case "/readyz": answer(exchange, inspection.readiness, "ready")
        default: return false
        }
        return true
    }

    private func answer(_ exchange: InternalExchange, _ examine: () -> HealthReport, _ name: String) {
        guard isRead(exchange) else { return }
        let report = examine()
        exchange.respond(exchange.query == "?verbose" ? Self.list(report, name) : Self.json(report, name))
    }

    /// `{"status":"ready"}`, or `{"status":"not ready","reasons":["store: …"]}`
    private static func json(_ report: HealthReport, _ name: String) -> HTTPAnswer {
        JSONAnswers.json(report.isPassed ? 200 : 503) {
            $0.member("status", report.isPassed ? name : "not \(name)")
            if !report.isPassed { $0.member("reasons", report.reasons) }
        }
    }

    /// A line a check, as Kubernetes' API server writes it.
    private static func list(_ report: HealthReport, _ name: String) -> HTTPAnswer {
        let lines = report.checks.map { check in
            check.problem.map { "[-]\(check.name) failed: \($0)\n" } ?? "[+]\(check.name) ok\n"
        }
        let end = report.isPassed ? "\(name)\n" : "not \(name)\n"
        return HTTPAnswer(
            status: report.isPassed ? 200 : 503,
            headers: [("Content-Type", "text/plain; charset=utf-8"), ("Cache-Control", "no-store")],
            body: Array((lines.joined() + end).utf8))
    }
}
