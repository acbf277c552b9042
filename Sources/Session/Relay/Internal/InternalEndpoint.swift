import HTTPWire
import Reactors

/// An endpoint of the internal listener: a folder of `Internal`, and a line in `InternalRouter.replace`. Reactor thread
/// only; what may wait belongs on threads of its own, as `MetricsEndpoint` does it.
///
/// The router has checked that the client may use the listener at all.
protocol InternalEndpoint {
    /// Answers the request, now or later.
    ///
    /// - Returns: false if the request is for another endpoint.
    func handle(_ exchange: InternalExchange) -> Bool
}

extension InternalEndpoint {
    /// For endpoints that only read: any other method is answered here.
    ///
    /// - Returns: whether `exchange` still has to be answered.
    func isRead(_ exchange: InternalExchange) -> Bool {
        guard !exchange.head.isMethod("GET"), !exchange.head.isMethod("HEAD") else { return true }
        exchange.respond(HTTPAnswer(status: 405, headers: [("Allow", "GET, HEAD"), ("Cache-Control", "no-store")]))
        return false
    }
}

extension InternalExchange {
    /// Without the query.
    var path: String { String(decoding: head.path, as: UTF8.self) }

    /// With its question mark; empty if there is none.
    var query: String { head.query.map { "?" + String(decoding: $0, as: UTF8.self) } ?? "" }
}
