import Admission
import Logging
import Observability
import Reactors

/// Brings each request of one reactor to the handler of its path. Reactor thread only.
final class EdgeRouter: EdgeHandler {
    private let sessions: SessionTable
    private let registrations: PendingRegistrations
    private unowned let reactor: Reactor
    // All of one reload.
    private var settings: RelaySettings
    private let record: DecisionRecord
    private var attestation: AttestationEndpoints?
    private var tickets: TicketEndpoint?
    private var upgrades: UpgradeHandler

    init(settings: RelaySettings, reactor: Reactor, sessions: SessionTable, registrations: PendingRegistrations) {
        self.sessions = sessions
        self.registrations = registrations
        self.reactor = reactor
        self.settings = settings
        let record = DecisionRecord(audit: settings.audit, metrics: settings.metrics, logger: settings.logger)
        self.record = record
        upgrades = UpgradeHandler(settings: settings, record: record, sessions: sessions, reactor: reactor)
        replace(settings)
    }

    /// Requests from here on are judged and served by these. Sessions that exist keep theirs, but for the gate: what they ask for is
    /// decided by the one of the moment.
    func replace(_ settings: RelaySettings) {
        self.settings = settings
        sessions.gate = settings.gate
        attestation = settings.attestation.map {
            AttestationEndpoints(services: $0, record: record, metrics: settings.metrics, pending: registrations)
        }
        tickets = settings.tickets.map { _ in TicketEndpoint(gate: settings.gate, record: record) }
        upgrades = UpgradeHandler(settings: settings, record: record, sessions: sessions, reactor: reactor)
    }

    func handle(_ exchange: HTTPExchange) {
        let context = RequestContext(
            peer: exchange.peer, head: exchange.isUnnamed ? nil : exchange.head, trusting: settings.trustedProxies,
            reactor: reactor)
        switch (exchange.head.method, RequestPath(exchange.head.path)) {
        case (.get, .health), (.head, .health): exchange.respond(health())
        case (_, .challenge) where attestation == nil, (_, .register) where attestation == nil:
            refuse(exchange, Refusal(.appAttestNotConfigured, detail: "App Attest is not configured"), context)
        case (.get, .challenge), (.post, .register): attest(exchange, context)
        case (.get, .root) where settings.servesWebClient, (.head, .root) where settings.servesWebClient:
            exchange.respond(WebClientPage.answer)
        case (.post, .ticket) where tickets != nil: tickets?.issue(exchange, context)
        default: refuse(exchange, Refusal(.notFound, detail: "no such endpoint"), context)
        }
    }

    private func attest(_ exchange: HTTPExchange, _ context: RequestContext) {
        if let refusal = settings.gate.refuseBlocked(context.address) {
            refuse(exchange, refusal, context)
        } else if exchange.head.method == .get {
            attestation?.challenge(exchange, context)
        } else {
            attestation?.register(exchange, context)
        }
    }

    func handle(_ upgrade: UpgradeRequest) -> UpgradeDecision {
        upgrades.handle(upgrade)
    }

    func connectionRefused(_ refusal: CensusRefusal) {
        settings.metrics.connectionRefused(refusal == .total ? .total : .perAddress)
    }

    func connectionOpened() {
        settings.metrics.connectionOpened()
    }

    func connectionClosed() {
        settings.metrics.connectionClosed()
    }

    func refusalAnswer(_ framing: FramingRefusal, peer: PeerAddress) -> HTTPAnswer {
        let context = RequestContext(peer: peer, head: nil, trusting: TrustedProxies(), reactor: reactor)
        let refusal = Refusal(framing)
        record.requestRefused(refusal, context)
        return JSONAnswers.refusal(refusal, requestID: context.id)
    }

    private func refuse(_ exchange: HTTPExchange, _ refusal: Refusal, _ context: RequestContext) {
        record.requestRefused(refusal, context)
        exchange.respond(JSONAnswers.refusal(refusal, requestID: context.id))
    }

    private func health() -> HTTPAnswer {
        let isDraining = settings.drain.isDraining
        let warnings = settings.warnings.isEmpty ? nil : settings.warnings
        return JSONAnswers.json(
            isDraining ? 503 : 200,
            JSONAnswers.HealthBody(
                status: isDraining ? "draining" : "healthy", version: settings.version, warnings: warnings))
    }
}

extension Refusal {
    fileprivate init(_ framing: FramingRefusal) {
        switch framing {
        case .malformed(let detail): self.init(.malformedRequest, detail: detail)
        case .lengthRequired: self.init(.lengthRequired, detail: "POST without Content-Length")
        case .bodyTooLarge: self.init(.bodyTooLarge, detail: "body is over MAX_BODY_BYTES")
        }
    }
}

/// The paths that the gateway serves. A trailing slash and a doubled leading one reach the same place: clients build URLs so.
enum RequestPath: Equatable {
    case root
    case challenge
    case register
    case health
    /// A route by its name, which the target policy knows or doesn't.
    case mud(String)
    case ticket
    case other

    init(_ path: String) {
        var text = path[...]
        while text.hasPrefix("//") { text.removeFirst() }
        if text.count > 1, text.hasSuffix("/") { text.removeLast() }
        self =
            switch text {
            case _ where text.hasPrefix("/mud/"): .mud(String(text.dropFirst("/mud/".count)))
            case "/": .root
            case "/attest/challenge": .challenge
            case "/attest/register": .register
            case "/health": .health
            case "/ticket": .ticket
            default: .other
            }
    }
}
