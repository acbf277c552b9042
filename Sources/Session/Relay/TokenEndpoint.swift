package import Admission
import BlockingWork
import DPoP
import HTTPWire
import KeyStore
import Observability
import Reactors
import WireText

/// The services behind `POST /token` and the issuer's public documents; shared by all reactors.
package struct TokenServices: Sendable {
    package var settings: TokenSettings
    package var issuer: TokenIssuer
    /// Seconds for which verifiers may cache the key set; a new key is published for longer before it signs.
    package var keySetMaximumAge: Int

    package init(settings: TokenSettings, issuer: TokenIssuer, keySetMaximumAge: Int) {
        self.settings = settings
        self.issuer = issuer
        self.keySetMaximumAge = keySetMaximumAge
    }
}

/// `POST /token`, `GET /.well-known/jwks.json` and `GET /.well-known/oauth-authorization-server`. Reactor thread,
/// except for issuing.
final class TokenEndpoint {
    private let services: TokenServices
    private let gate: Gate
    private let record: DecisionRecord
    private let pending: PendingWork

    init(services: TokenServices, gate: Gate, record: DecisionRecord, pending: PendingWork) {
        self.services = services
        self.gate = gate
        self.record = record
        self.pending = pending
    }

    /// Verifying takes a fraction of a millisecond, but the store and the audit log may wait for the disk, so tokens
    /// are issued on threads of their own. The answer is sent on the reactor.
    func issue(_ exchange: HTTPExchange, _ context: RequestContext) {
        guard isAvailable else { return answer(exchange, .refused(.publicOriginRequired), context) }
        guard pending.begin() else {
            let refusal = Refusal.token(
                .tokensUnavailable, detail: "too many requests for tokens at once",
                retryAfter: PendingTokens.retryAfterSeconds, failed: FailedCheck(.queue))
            return answer(exchange, .refused(refusal), context)
        }
        let request = TokenRequest(exchange, services.settings, context)
        let pinned = Pinned((exchange: exchange, endpoint: self), to: exchange.reactor)
        let (issuer, gate, record, pending) = (services.issuer, gate, record, pending)
        Task(executorPreference: pending.threads) {
            let outcome = record.orUnwritten(await issuer.issue(request, unless: gate.refuseBlocked), context)
            pinned.reactor.submit {
                pinned.value.endpoint.answer(pinned.value.exchange, outcome, context)
                pending.end()
            }
        }
    }

    private func answer(_ exchange: HTTPExchange, _ outcome: TokenOutcome, _ context: RequestContext) {
        record.tokenRequested(outcome, context)
        switch outcome {
        case .issued(let token): exchange.respond(JSONAnswers.token(token))
        case .refused(let refusal): exchange.respond(JSONAnswers.refusal(refusal, requestID: context.id))
        }
    }

    /// RFC 7517 section 5.
    func keySet(_ exchange: HTTPExchange, _ context: RequestContext) {
        guard isAvailable else { return refuse(exchange, context) }
        exchange.respond(
            JSONAnswers.cacheable(
                services.settings.keys.published(at: context.moment.date).json, seconds: services.keySetMaximumAge))
    }

    /// RFC 8414 section 3.2.
    func metadata(_ exchange: HTTPExchange, _ context: RequestContext) {
        guard isAvailable else { return refuse(exchange, context) }
        let body = JSONAnswers.metadata(
            issuer: services.settings.issuer, hasDevelopmentTokens: services.settings.development != nil)
        exchange.respond(JSONAnswers.cacheable(body, seconds: services.keySetMaximumAge))
    }

    private var isAvailable: Bool { services.settings.origins.areKnown }

    private func refuse(_ exchange: HTTPExchange, _ context: RequestContext) {
        let refusal = Refusal.publicOriginRequired
        record.requestRefused(refusal, context)
        exchange.respond(JSONAnswers.refusal(refusal, requestID: context.id))
    }
}

extension TokenRequest {
    /// - Parameter settings: nil: there are no tokens, and no proof matches.
    init(_ exchange: HTTPExchange, _ settings: TokenSettings?, _ context: RequestContext) {
        let head = exchange.head
        func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
        let url = settings?.origins.url(host: head.authority.map(text), path: text(head.path))
        self.init(
            body: exchange.body, proofs: head.fields.all("dpop").map(text), method: text(head.method),
            url: url?.text ?? "", address: context.address, moment: context.moment)
        foreignHost = url?.foreignHost
    }
}

extension JSONAnswers {
    /// Only the members that every client accepts, unless the client has asked for more.
    static func token(_ token: IssuedToken) -> HTTPAnswer {
        var answer = json(200) {
            $0.member("access_token", token.text)
            $0.member("expires_in", Int64(token.lifetimeSeconds))
            if token.isDevelopment { $0.member("mode", AccessTokenClaims.developmentMode) }
            if token.hasTokenType { $0.member("token_type", "DPoP") }
        }
        if let nonce = token.freshNonce { answer.headers.append(("DPoP-Nonce", nonce)) }
        return answer
    }

    static func registered(_ key: RegisteredKey) -> HTTPAnswer {
        json(200) {
            $0.member("key_id", key.id.base64)
            $0.member("registered", true)
        }
    }

    /// `exp` is in Unix seconds, an integer.
    static func tokenChallenge(_ issued: IssuedChallenge) -> HTTPAnswer {
        json(200) {
            $0.member("exp", issued.expires / 1_000)
            $0.member("nonce", issued.nonce)
        }
    }

    /// RFC 8414 section 2. The grants are this gateway's own, and its clients have no secret.
    static func metadata(issuer: String, hasDevelopmentTokens: Bool) -> [UInt8] {
        let grants =
            ["urn:portcullis:grant-type:app-attest"]
            + (hasDevelopmentTokens ? ["urn:portcullis:grant-type:dev-token"] : [])
        var body = JSONWriter()
        body.member("issuer", issuer)
        body.member("token_endpoint", issuer + "/token")
        body.member("jwks_uri", issuer + "/.well-known/jwks.json")
        body.member("response_types_supported", ["none"])
        body.member("grant_types_supported", grants)
        body.member("token_endpoint_auth_methods_supported", ["none"])
        body.member("dpop_signing_alg_values_supported", ["ES256"])
        return body.object
    }

    /// A public document.
    static func cacheable(_ body: [UInt8], seconds: Int) -> HTTPAnswer {
        HTTPAnswer(
            status: 200,
            headers: [("Content-Type", "application/json"), ("Cache-Control", "public, max-age=\(seconds)")], body: body
        )
    }
}
