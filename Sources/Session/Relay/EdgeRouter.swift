import Accounts
import Admission
import HTTPWire
import Logging
import Observability
import Reactors
import WireText

/// Routes each request of one reactor to the handler of its path, with the settings of one reload. Reactor thread only.
final class EdgeRouter: EdgeHandler {
    private unowned let reactor: Reactor
    private let settings: RelaySettings
    private let record: DecisionRecord
    private let attestation: AttestationEndpoints?
    private let signedRequests: SignedRequestEndpoints?
    private let tickets: TicketEndpoint?
    private let tokens: TokenEndpoint?
    private let accounts: AccountEndpoints?
    private let upgrades: UpgradeHandler

    init(settings: RelaySettings, reactor: Reactor, sessions: SessionTable, work: SharedWork) {
        self.reactor = reactor
        self.settings = settings
        let record = DecisionRecord(settings)
        self.record = record
        attestation = settings.attestation.map {
            AttestationEndpoints(
                services: $0, tokens: settings.tokens?.settings, record: record, metrics: settings.metrics,
                pending: work.registrations, issuing: work.issuing)
        }
        tokens = settings.tokens.map {
            TokenEndpoint(services: $0, gate: settings.gate, record: record, pending: work.issuing)
        }
        accounts = settings.accounts.map {
            AccountEndpoints(
                services: $0, gate: settings.gate, record: record, registrations: work.registrations,
                issuing: work.issuing)
        }
        signedRequests = settings.signedRequests.map {
            SignedRequestEndpoints(
                services: $0, gate: settings.gate, record: record, metrics: settings.metrics,
                pending: work.registrations, ending: work.ending)
        }
        tickets = settings.tickets.map { _ in TicketEndpoint(gate: settings.gate, record: record) }
        upgrades = UpgradeHandler(settings: settings, record: record, sessions: sessions, reactor: reactor)
    }

    /// The client's own address counts, also behind a trusted proxy; the request's handlers get it from here.
    func limit(_ head: RequestHead?, peer: SocketAddress, isUnnamed: Bool) -> RequestLimitation {
        // Malformed input from a proxy can't be attributed to one of its clients. It is answered, and the connection is
        // closed.
        if head == nil, settings.trustedProxies.contains(peer.address) { return .serve(client: nil) }
        let named = isUnnamed ? nil : head
        let address = settings.trustedProxies.client(of: peer.address) { named?.text($0) }
        switch settings.requests.judge(address, at: MonotonicTime(nanoseconds: reactor.now)) {
        case .serve: return .serve(client: address)
        case .refuse(let refusal):
            let context = RequestContext(client: address, peer: peer, reactor: reactor)
            record.requestRefused(refusal, context)
            return .refuse(related(JSONAnswers.refusal(refusal, requestID: context.id), named))
        case .close:
            settings.metrics.requestRefused(reason: RefusalCode.rateLimited)
            return .close
        }
    }

    func handle(_ exchange: HTTPExchange) {
        let context = RequestContext(client: exchange.client, peer: exchange.peer, reactor: reactor)
        // What this process would give or use up, the one that takes over wouldn't know.
        if settings.drain.isHandingOver {
            return refuse(exchange, Refusal(.draining, detail: "another process takes over", retryAfter: 1), context)
        }
        let path = signedRequests?.path(of: exchange.head).map(RequestPath.signed) ?? RequestPath(exchange.head)
        guard let method = RequestMethod(exchange.head) else {
            return refuse(exchange, Refusal(.notImplemented, detail: "unknown method"), context)
        }
        let allowed = methods(of: path)
        switch (method, path) {
        case (.options, .account) where !allowed.isEmpty:
            let answer = Self.options(allowed)
            exchange.respond(accounts?.options(answer, allowed, exchange.head) ?? answer)
        case (.options, _) where !allowed.isEmpty: exchange.respond(Self.options(allowed))
        case _ where allowed.isEmpty: refuse(exchange, missing(path), context)
        case _ where !allowed.contains(method):
            let refusal = Refusal(
                .methodNotAllowed, detail: "method is not allowed here", allowedMethods: allowed.map(\.rawValue))
            refuse(exchange, refusal, context)
        case (_, .health): exchange.respond(HealthAnswer.make(settings, at: reactor))
        case (_, .challenge), (_, .register): attest(exchange, context)
        case (_, .signed(let path)): signedRequests?.handle(exchange, path, context)
        case (_, .ticket): tickets?.issue(exchange, context)
        case (_, .token): issueToken(exchange, context)
        case (_, .keySet): tokens?.keySet(exchange, context)
        case (_, .metadata): tokens?.metadata(exchange, context)
        case (_, .account(let path)): accounts?.handle(exchange, path, context)
        case (_, .platform(let file)): exchange.respond(settings.platformFiles?.answer(file) ?? settings.webClient)
        default: exchange.respond(settings.webClient)
        }
    }

    /// Empty if there is no such resource, or if it accepts only upgrades.
    private func methods(of path: RequestPath) -> [RequestMethod] {
        switch path {
        case .health: [.get, .head, .options]
        case .challenge where attestation != nil: [.get, .head, .options] + (tokens == nil ? [] : [.post])
        case .register where attestation != nil: [.post, .options]
        case .signed(let path): path.methods
        case .ticket where tickets != nil: [.post, .options]
        case .token where tokens != nil: [.post, .options]
        case .keySet where tokens != nil, .metadata where tokens != nil: [.get, .head, .options]
        case .account(let path) where accounts != nil: path.methods
        case .platform(let file) where settings.platformFiles?.body(of: file) != nil: [.get, .head, .options]
        case .root where settings.servesWebClient: [.get, .head, .options]
        case .server: [.options]
        default: []
        }
    }

    private func missing(_ path: RequestPath) -> Refusal {
        switch path {
        case .challenge, .register: Refusal(.appAttestNotConfigured, detail: "App Attest is not configured")
        case .root, .mud: Refusal(.upgradeRequired, detail: "a request without an upgrade")
        default: Refusal(.notFound, detail: "no such endpoint")
        }
    }

    /// RFC 9110 §9.3.7.
    private static func options(_ allowed: [RequestMethod]) -> HTTPAnswer {
        HTTPAnswer(status: 204, headers: [("Allow", allowed.map(\.rawValue).joined(separator: ", "))])
    }

    private func attest(_ exchange: HTTPExchange, _ context: RequestContext) {
        if let refusal = settings.gate.refuseBlocked(context.address) {
            attestation?.refuseBlocked(exchange, refusal, context)
        } else if RequestPath(exchange.head) == .challenge {
            attestation?.challenge(exchange, context)
        } else {
            attestation?.register(exchange, context)
        }
    }

    private func issueToken(_ exchange: HTTPExchange, _ context: RequestContext) {
        if let refusal = settings.gate.refuseBlocked(context.address) {
            return refuse(exchange, refusal.forTokenClient(), context)
        }
        tokens?.issue(exchange, context)
    }

    func handle(_ upgrade: UpgradeExchange) {
        upgrades.handle(upgrade)
    }

    func handle(_ passedOn: PassedOnUpgrade) { upgrades.handle(passedOn) }

    func connectionRefused(_ refusal: CensusRefusal) {
        settings.metrics.connectionRefused(ConnectionRefusal(refusal))
    }

    func connectionOpened() {
        settings.metrics.connectionOpened()
    }

    func connectionClosed() {
        settings.metrics.connectionClosed()
    }

    func handshakeEnded(_ outcome: HandshakeEnd) {
        settings.metrics.handshakeEnded(HandshakeOutcome(outcome))
    }

    func answer(to fault: EdgeFault, peer: SocketAddress) -> HTTPAnswer {
        let context = RequestContext(client: peer.address, peer: peer, reactor: reactor)
        let refusal = Refusal(fault)
        record.requestRefused(refusal, context)
        return JSONAnswers.refusal(refusal, requestID: context.id)
    }

    private func refuse(_ exchange: HTTPExchange, _ refusal: Refusal, _ context: RequestContext) {
        record.requestRefused(refusal, context)
        exchange.respond(related(JSONAnswers.refusal(refusal, requestID: context.id), exchange.head))
    }

    /// Pages of related origins may read refusals of the endpoints of accounts, wherever they are made.
    private func related(_ answer: HTTPAnswer, _ head: RequestHead?) -> HTTPAnswer {
        guard let accounts, let head, AccountPath.covers(head) else { return answer }
        return accounts.admitting(answer, head)
    }
}

extension ConnectionRefusal {
    fileprivate init(_ refusal: CensusRefusal) {
        switch refusal {
        case .total: self = .total
        case .perAddress: self = .perAddress
        case .handshakeRate: self = .handshakeRate
        }
    }
}

extension HandshakeOutcome {
    fileprivate init(_ end: HandshakeEnd) {
        switch end {
        case .completed: self = .completed
        case .failed: self = .failed
        case .timedOut: self = .timedOut
        }
    }
}

extension Refusal {
    fileprivate init(_ fault: EdgeFault) {
        switch fault {
        case .malformed(let fault): self.init(RefusalAnswer(fault), detail: fault.detail)
        case .bodyOfUpgrade: self.init(.malformedRequest, detail: "a body behind an upgrade")
        case .timedOut: self.init(.requestTimedOut, detail: "the request was not complete in time")
        case .undecided: self.init(.upgradeTimedOut, detail: "the upgrade was not decided in time", retryAfter: 1)
        case .relayedRequest:
            self.init(.malformedRequest, detail: "a gateway has passed on a request without an upgrade")
        }
    }
}

extension RefusalAnswer {
    fileprivate init(_ fault: RequestFault) {
        self =
            switch fault.status {
            case .lengthRequired: .lengthRequired
            case .contentTooLarge: .bodyTooLarge
            case .uriTooLong: .targetTooLong
            case .expectationFailed: .expectationFailed
            case .requestHeaderFieldsTooLarge: .headerTooLarge
            case .notImplemented: .notImplemented
            case .httpVersionNotSupported: .versionNotSupported
            default: .malformedRequest
            }
    }
}

/// The methods that RFC 9110 §9.3 and RFC 5789 define: others aren't implemented.
enum RequestMethod: String, CaseIterable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case put = "PUT"
    case delete = "DELETE"
    case connect = "CONNECT"
    case options = "OPTIONS"
    case trace = "TRACE"
    case patch = "PATCH"

    init?(_ head: RequestHead) {
        guard let method = Self.allCases.first(where: { head.isMethod($0.rawValue) }) else { return nil }
        self = method
    }
}

/// The paths that the gateway serves. A trailing slash and a doubled leading slash are accepted, because clients build
/// such URLs.
enum RequestPath: Equatable {
    case root
    case challenge
    case register
    case health
    /// Of requests that are signed one by one, behind `SIGNED_REQUESTS_PREFIX`.
    case signed(SignedRequestPath)
    /// A route by its name, which may be unknown to the target policy.
    case mud(String)
    case ticket
    case token
    /// `/.well-known/jwks.json`
    case keySet
    /// `/.well-known/oauth-authorization-server`
    case metadata
    /// `/api/auth/…`
    case account(AccountPath)
    /// A file of `/.well-known/` that platforms ask for.
    case platform(PlatformFile)
    /// `*`: the gateway itself.
    case server
    case other

    init(_ head: RequestHead) { self.init(String(decoding: head.path, as: UTF8.self)) }

    /// Clients make doubled slashes of a base URL that ends with one.
    static func simplified<Path: BidirectionalCollection<UInt8>>(_ path: Path) -> Path.SubSequence {
        var path = path[...]
        while path.starts(with: "//".utf8) { path.removeFirst() }
        if path.count > 1, path.last == UInt8(ascii: "/") { path.removeLast() }
        return path
    }

    init(_ path: String) {
        let text = Substring(Self.simplified(path.utf8))
        self =
            switch WireWord(text) {
            case _ where text.hasBytePrefix("/mud/"): .mud(String(text.droppingBytes("/mud/".utf8.count)))
            case _ where text.hasBytePrefix(AccountPath.prefix): AccountPath(text).map(RequestPath.account) ?? .other
            case "*": .server
            case "/": .root
            case "/attest/challenge": .challenge
            case "/attest/register": .register
            case "/health": .health
            case "/ticket": .ticket
            case "/token": .token
            case "/.well-known/jwks.json": .keySet
            case "/.well-known/oauth-authorization-server": .metadata
            default: PlatformFile(word: text).map(RequestPath.platform) ?? .other
            }
    }
}
