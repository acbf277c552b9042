import Admission
import HTTPWire
import Logging
import Observability
import Reactors
import WireText

/// What the internal listener's routers have in common, on all reactors and through reloads.
struct InternalDesk: Sendable {
    let inspection: GatewayInspection
    let metrics: PendingWork
    let console: ConsoleEndpoint
    let refusals: InternalRefusals
}

/// Routes each request of the internal listener on one reactor, with the settings of one reload. Reactor thread only.
///
/// Its clients are proxies and tools of the operator. What they repeat of their own clients' requests is untrusted.
final class InternalRouter: InternalHandler {
    private let refusals: InternalRefusals
    private let settings: RelaySettings
    private let endpoints: [any InternalEndpoint]
    private let signed: SignedAuthorizationEndpoint?

    init(settings: RelaySettings, desk: InternalDesk) {
        refusals = desk.refusals
        self.settings = settings
        let record = DecisionRecord(settings)
        signed = settings.signedAuthorization.map {
            SignedAuthorizationEndpoint($0, record: record, proxies: settings.trustedProxies)
        }
        let made: [(any InternalEndpoint)?] = [
            signed,
            settings.requestAuthorization.map {
                AuthorizationEndpoint($0, record: record, proxies: settings.trustedProxies)
            },
            HealthEndpoint(settings: settings),
            ProbeEndpoint(inspection: desk.inspection),
            MetricsEndpoint(inspection: desk.inspection, pending: desk.metrics),
            settings.servesConsole ? desk.console : nil,
        ]
        endpoints = made.compactMap(\.self)
    }

    /// Only signed requests' are read; others pass up to the parser's own limit.
    var maximumBodyBytes: Int {
        max(HTTPWire.RequestLimits().maximumBodyBytes, settings.signedAuthorization?.maximumBodyBytes ?? 0)
    }

    func bodyReader(for head: RequestHead, isCertified: @autoclosure () -> Bool) -> (any InternalBodyReader)? {
        guard let signed, signed.seesBodies else { return nil }
        return BodyHashing(for: head, of: settings.internalAccess, isCertified: isCertified())
    }

    func handle(_ exchange: InternalExchange) {
        // A proof that is used up here could be used again at the process that takes over.
        if settings.drain.isHandingOver { return exchange.drop() }
        let isQuestion = AuthorizationDemand(path: exchange.path, query: exchange.query) != nil
        let access = settings.internalAccess
        guard access.admits(exchange.head, isQuestion: isQuestion, isCertified: exchange.isCertified) else {
            settings.metrics.internalRequestRefused()
            guard isQuestion else { return exchange.respond(Self.accessRequired) }
            return refuseProxy(exchange)
        }
        if !endpoints.contains(where: { $0.handle(exchange) }) { exchange.respond(Self.notFound) }
    }

    func mayConnect(isCertified: Bool) -> Bool { settings.internalAccess.mayConnect(isCertified: isCertified) }

    func connectionRefused(_ refusal: InternalRefusal, of peer: SocketAddress?, detail: String?) {
        let reason = InternalConnectionRefusal(refusal)
        settings.metrics.internalConnectionRefused(reason)
        guard let suppressed = refusals.note(at: Reactor.monotonicNow) else { return }
        var metadata: Logger.Metadata = [LogKeys.reason: "\(reason.rawValue)", LogKeys.suppressed: "\(suppressed)"]
        if let peer { metadata[LogKeys.address] = "\(peer.address.text)" }
        if let detail { metadata[LogKeys.detail] = "\(detail)" }
        settings.logger.warning("internal connection refused", metadata: metadata)
    }

    /// A proxy forwards its client's header fields, which may be malformed. Proxies pass a 403 on, but turn a 400 into
    /// a 500.
    func answer(to fault: RequestFault) -> HTTPAnswer {
        // Bodies come with signed requests.
        if fault == .bodyTooLarge, signed?.seesBodies == true { return SignedAuthorizationEndpoint.refuseBody() }
        let refusal = Refusal.token(.invalidRequest, detail: fault.detail)
        return AuthorizationEndpoint.refusal(refusal, requestID: RequestContext.makeID())
    }

    private static var accessRequired: HTTPAnswer {
        var answer = JSONAnswers.json(401) {
            $0.member("error", "The internal listener requires its token or a client certificate")
        }
        answer.headers.append(("WWW-Authenticate", "Bearer realm=\"portcullis\""))
        answer.headers.append(("WWW-Authenticate", "Basic realm=\"portcullis\", charset=\"UTF-8\""))
        // A client without either keeps no place among the listener's connections.
        answer.closesConnection = true
        return answer
    }

    /// The operator's mistake, which the proxy's clients see: nothing in the answer asks them for credentials.
    private func refuseProxy(_ exchange: InternalExchange) {
        let refusal = Refusal(.proxyNotAuthorized, detail: "a proxy without the internal token")
        let id = RequestContext.makeID()
        var answer = AuthorizationEndpoint.refusal(refusal, requestID: id)
        answer.closesConnection = true
        exchange.respond(answer)
        guard let suppressed = refusals.note(at: Reactor.monotonicNow) else { return }
        settings.logger.warning(
            "a proxy has asked on /authz without showing the internal token or a certificate",
            metadata: [LogKeys.requestID: "\(id)", LogKeys.suppressed: "\(suppressed)"])
    }

    private static var notFound: HTTPAnswer {
        JSONAnswers.refusal(
            Refusal(.notFound, detail: "no such internal endpoint"), requestID: RequestContext.makeID())
    }
}

/// What the path of a question says, which is the proxy's configuration: `/authz`, behind any of `/admit/METHOD`,
/// `/route/NAME` and `/status/428`, each once.
///
/// It isn't in the query, because some proxies append their client's.
struct AuthorizationDemand: Equatable {
    /// Only these methods are admitted, of those that `AUTHZ_ADMIT` names; nil: all of these.
    private(set) var methods: Set<String>?
    /// For development tokens that are limited to routes.
    private(set) var route: String?
    /// `/status/428`: the proxy passes 428 on, too. Without it that is 403: nginx makes 500 of it.
    private(set) var passesReattestation = false
    /// The rest after `/authz`, with the query, if the proxy appends its client's path (Envoy); otherwise empty.
    let rest: String

    /// - Returns: nil for any other path.
    init?(path: String, query: String) {
        // The parser lets nothing else through.
        guard path.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        var path = path[...]
        while let (name, value, rest) = Self.option(path) {
            switch WireWord(name) {
            case "admit" where methods == nil: methods = Self.methods(value)
            case "route" where route == nil: route = String(value)
            case "status" where !passesReattestation && value.hasSameBytes(as: "428"): passesReattestation = true
            default: return nil
            }
            path = rest
        }
        guard path.hasSameBytes(as: "/authz") || path.hasBytePrefix("/authz/") else { return nil }
        let rest = path.droppingBytes("/authz".utf8.count)
        self.rest = rest.isEmpty ? "" : rest + query
    }

    private static func methods(_ value: Substring) -> Set<String> {
        Set(value.splitAtBytes { $0 == UInt8(ascii: "+") }.filter { !$0.isEmpty }.map(String.init))
    }

    /// `/NAME/VALUE` and the rest; nil if `/authz` or anything but an option follows.
    private static func option(_ path: Substring) -> (name: Substring, value: Substring, rest: Substring)? {
        let parts = path.splitAtBytes(maxSplits: 3) { $0 == UInt8(ascii: "/") }
        guard parts.count == 4, parts[0].isEmpty, ["admit", "route", "status"].containsBytes(of: parts[1]),
            !parts[2].isEmpty
        else { return nil }
        return (parts[1], parts[2], path[path.utf8.index(before: parts[3].startIndex)...])
    }
}
