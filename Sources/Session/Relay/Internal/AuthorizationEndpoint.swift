import Admission
import HTTPWire
import KeyStore
import Reactors
import WireText

/// Whose client a question of a proxy is about.
struct AuthorizationProxies: Sendable {
    private let proxies: TrustedProxies

    /// - Parameter proxies: `TRUSTED_PROXY_CIDRS`, `TRUSTED_PROXY_HEADER`. This machine is always one of them here.
    init(_ proxies: TrustedProxies) {
        self.proxies = TrustedProxies(proxies.ranges + Self.thisMachine, header: proxies.header)
    }

    private static let thisMachine = ["127.0.0.0/8", "::1"].compactMap { AddressRange($0) }
    /// The proxy's address, also behind a Unix socket.
    private static let proxy = IPAddress(ipv4: (127, 0, 0, 1))

    func context(of head: RequestHead, _ reactor: Reactor) -> RequestContext {
        RequestContext(
            id: RequestContext.makeID(), address: proxies.client(of: Self.proxy, head.text), moment: reactor.moment,
            isForwarded: true)
    }
}

/// `/authz`: tells a proxy whether its client's request may pass (nginx `auth_request`, Caddy `forward_auth`, Traefik
/// `forwardAuth`, Envoy `ext_authz`). Reactor thread.
///
/// The answer to an authorized request has no content, and the verified identity in `X-Portcullis-…` fields. A refusal
/// is 401 or 403, because proxies turn any other status into an error; `X-Refusal-Code` and `X-Refusal-Description`
/// repeat what its body says, for proxies that pass on header fields alone. 503 is left to failures of the gateway's
/// own.
struct AuthorizationEndpoint: InternalEndpoint {
    private let authorization: RequestAuthorization
    private let record: DecisionRecord
    private let proxies: AuthorizationProxies

    init(_ authorization: RequestAuthorization, record: DecisionRecord, proxies: TrustedProxies) {
        self.authorization = authorization
        self.record = record
        self.proxies = AuthorizationProxies(proxies)
    }

    func handle(_ exchange: InternalExchange) -> Bool {
        guard let demand = AuthorizationDemand(path: exchange.path, query: exchange.query) else { return false }
        let (head, reactor) = (exchange.head, exchange.reactor)
        let context = proxies.context(of: head, reactor)
        let isEnvoy = !demand.rest.isEmpty
        switch question(head, demand, context) {
        case .failure(let refused): exchange.respond(refuse(refused.refusal, context))
        case .success(let question):
            switch authorization.decision(on: question) {
            case .decided(let outcome): exchange.respond(answer(outcome, isEnvoy: isEnvoy, context))
            case .later(let later):
                let pinned = Pinned((exchange: exchange, endpoint: self), to: reactor)
                later.whenDecided { outcome in
                    reactor.submit {
                        let (exchange, endpoint) = pinned.value
                        exchange.respond(endpoint.answer(outcome, isEnvoy: isEnvoy, context))
                    }
                }
            }
        }
        return true
    }

    private func question(
        _ head: RequestHead, _ demand: AuthorizationDemand, _ context: RequestContext
    ) -> Result<RequestAuthorization.Question, RefusedRequest> {
        do throws(OriginalRequest.Fault) {
            let request = try OriginalRequest(
                path: demand.rest, ownMethod: String(decoding: head.method, as: UTF8.self), fields: head.texts)
            return .success(
                RequestAuthorization.Question(
                    request: request, authorization: head.texts("authorization"), proofs: head.texts("dpop"),
                    address: context.address, methods: demand.methods, route: demand.route, moment: context.moment))
        } catch {
            return .failure(RefusedRequest(.token(.invalidRequest, detail: "\(error)", reason: "\(error)")))
        }
    }

    private func answer(
        _ result: RequestAuthorization.Outcome, isEnvoy: Bool, _ context: RequestContext
    ) -> HTTPAnswer {
        switch result {
        case .success(.success(let verified)): admit(verified, isEnvoy: isEnvoy, context)
        case .success(.failure(let refused)): refuse(refused.refusal, context)
        case .failure(let error):
            refuse(.token(.storeUnavailable, detail: "\(error)", retryAfter: 1), context)
        }
    }

    // MARK: Answers

    private func admit(
        _ verified: VerifiedResourceRequest, isEnvoy: Bool, _ context: RequestContext
    ) -> HTTPAnswer {
        if let refusal = record.refuseUnwrittenAuthorization(of: verified, context) {
            return refuse(refusal.forTokenClient(), context)
        }
        var fields = verified.identityFields
        fields += [("X-Portcullis-Request-Id", context.id), ("Cache-Control", "no-store")]
        if let nonce = verified.freshNonce { fields.append(("DPoP-Nonce", nonce)) }
        // Envoy accepts no other status as permission.
        return HTTPAnswer(status: isEnvoy ? 200 : 204, headers: fields)
    }

    private func refuse(_ refusal: Refusal, _ context: RequestContext) -> HTTPAnswer {
        record.authorizationRefused(refusal, context)
        return Self.refusal(refusal, requestID: context.id)
    }

    /// - Parameter passesReattestation: whether the proxy passes 428 on.
    static func refusal(_ refusal: Refusal, requestID: String, passesReattestation: Bool = false) -> HTTPAnswer {
        let answer = JSONAnswers.refusal(refusal, requestID: requestID)
        let description = refusal.description(ofRequest: requestID) ?? refusal.message
        let headers = answer.headers + [("X-Refusal-Description", description)]
        let status = passesReattestation && refusal.status == 428 ? 428 : status(of: refusal)
        return HTTPAnswer(status: status, headers: headers, body: answer.body)
    }

    /// 401 if another credential could succeed, otherwise 403.
    private static func status(of refusal: Refusal) -> Int {
        switch refusal.status {
        case 401, 500...: refusal.status
        default: 403
        }
    }
}
