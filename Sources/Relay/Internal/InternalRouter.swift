import Admission
import HTTPWire
import Reactors

/// Routes each request of the internal listener on one reactor. Reactor thread only.
///
/// Its clients are proxies and tools of the operator on the same machine. What they repeat of their own clients' requests is untrusted.
final class InternalRouter: InternalHandler {
    private unowned let reactor: Reactor
    private let console: ConsoleEndpoint
    // All from the same reload.
    private var settings: RelaySettings
    private var record: DecisionRecord
    private var authorization: AuthorizationEndpoint?

    /// - Parameter console: shared by all reactors.
    init(settings: RelaySettings, reactor: Reactor, console: ConsoleEndpoint) {
        self.console = console
        self.reactor = reactor
        self.settings = settings
        record = DecisionRecord(settings)
        replace(settings)
    }

    /// Uses these settings for all further requests.
    func replace(_ settings: RelaySettings) {
        self.settings = settings
        record = DecisionRecord(settings)
        authorization = settings.forwardAuthorization.map {
            AuthorizationEndpoint($0, record: record, proxies: settings.trustedProxies)
        }
    }

    func handle(_ exchange: InternalExchange) {
        switch InternalPath(exchange.head) {
        case .authorization(let demand):
            guard let authorization else { return exchange.respond(Self.notFound) }
            exchange.respond(authorization.answer(exchange.head, demand, at: reactor))
        case .health: exchange.respond(HealthAnswer.make(settings, at: reactor))
        case .other: if !console.handle(exchange) { exchange.respond(Self.notFound) }
        }
    }

    /// A proxy repeats its client's header fields, which may be what is malformed. Proxies pass a 403 on, and make a 500 of a 400.
    func answer(to fault: RequestFault) -> HTTPAnswer {
        let refusal = Refusal.token(.invalidRequest, detail: fault.detail)
        return AuthorizationEndpoint.refusal(refusal, requestID: RequestContext.makeID())
    }

    private static var notFound: HTTPAnswer {
        JSONAnswers.refusal(
            Refusal(.notFound, detail: "no such internal endpoint"), requestID: RequestContext.makeID())
    }
}

/// The paths of the internal listener.
enum InternalPath: Equatable {
    case authorization(AuthorizationDemand)
    case health
    case other

    init(_ head: RequestHead) {
        let path = String(decoding: head.path, as: UTF8.self)
        let query = head.query.map { "?" + String(decoding: $0, as: UTF8.self) } ?? ""
        if let demand = AuthorizationDemand(path: path, query: query) {
            self = .authorization(demand)
        } else {
            self = path == "/health" ? .health : .other
        }
    }
}

/// What the path of a question says, which is the proxy's configuration: `/authz`, behind any of `/admit/METHOD` and `/route/NAME`, each once.
///
/// It isn't in the query, because some proxies append their client's.
struct AuthorizationDemand: Equatable {
    /// Only these methods are admitted, of those that `AUTHZ_ADMIT` names; nil: all of these.
    private(set) var methods: Set<String>?
    /// For development tokens that are limited to routes.
    private(set) var route: String?
    /// What follows `/authz`, with the query, if the proxy appends its client's path (Envoy); otherwise empty.
    let rest: String

    /// - Returns: nil for any other path.
    init?(path: String, query: String) {
        var path = path[...]
        while let (name, value, rest) = Self.option(path) {
            switch name {
            case "admit" where methods == nil: methods = Set(value.split(separator: "+").map(String.init))
            case "route" where route == nil: route = String(value)
            default: return nil
            }
            path = rest
        }
        guard path == "/authz" || path.hasPrefix("/authz/") else { return nil }
        let rest = path.dropFirst("/authz".count)
        self.rest = rest.isEmpty ? "" : rest + query
    }

    /// `/NAME/VALUE` and the rest; nil where `/authz` comes, or nothing that can be an option.
    private static func option(_ path: Substring) -> (name: Substring, value: Substring, rest: Substring)? {
        let parts = path.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0].isEmpty, parts[1] == "admit" || parts[1] == "route", !parts[2].isEmpty else {
            return nil
        }
        return (parts[1], parts[2], path[path.index(before: parts[3].startIndex)...])
    }
}
