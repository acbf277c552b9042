import Admission
import BlockingWork
import DPoP
import HTTPWire
import Observability
import Reactors
import StrictJSON
import WireText

/// `/attest/challenge` and `POST /attest/register`. Reactor thread, except for reading bodies and for the registration
/// itself.
final class AttestationEndpoints {
    private let services: AttestationServices
    private let record: DecisionRecord
    private let metrics: GatewayMetrics
    private let pending: PendingWork
    private let issuing: PendingWork
    private let tokens: TokenSettings?

    init(
        services: AttestationServices, tokens: TokenSettings?, record: DecisionRecord, metrics: GatewayMetrics,
        pending: PendingWork, issuing: PendingWork
    ) {
        self.issuing = issuing
        self.tokens = tokens
        self.services = services
        self.record = record
        self.metrics = metrics
        self.pending = pending
    }

    /// An issued challenge leaves no state. `POST` is for the token dialect: clients of each would misread the other's
    /// encoding.
    func challenge(_ exchange: HTTPExchange, _ context: RequestContext) {
        let isForToken = exchange.head.isMethod("POST")
        if let refusal = services.limits.refuseChallenge(to: context.address, at: context.moment.monotonic) {
            return refuse(exchange, isForToken ? refusal.forTokenClient() : refusal, context)
        }
        guard !isForToken else { return tokenChallenge(exchange, context) }
        let issued = services.challenges.issue(at: context.moment)
        metrics.challengeIssued()
        exchange.respond(JSONAnswers.challenge(issued))
    }

    private func tokenChallenge(_ exchange: HTTPExchange, _ context: RequestContext) {
        guard tokens?.origins.areKnown == true else { return refuse(exchange, .publicOriginRequired, context) }
        guard issuing.begin() else {
            let detail = "too many requests for tokens at once"
            let refusal = Refusal.token(
                .tokensUnavailable, detail: detail, retryAfter: PendingTokens.retryAfterSeconds,
                failed: FailedCheck(.queue))
            return refuse(exchange, refusal, context)
        }
        let (reactor, body) = (exchange.reactor, exchange.body)
        let pinned = Pinned((exchange: exchange, endpoints: self), to: reactor)
        Task(executorPreference: issuing.threads) { [issuing] in
            let isForToken = AttestationEndpoints.asksForToken(body)
            reactor.submit {
                pinned.value.endpoints.answerTokenChallenge(pinned.value.exchange, isForToken: isForToken, context)
                issuing.end()
            }
        }
    }

    private static func asksForToken(_ body: [UInt8]) -> Bool {
        (try? JSONReader.readObject(body))?["purpose"]?.string?.hasSameBytes(as: "token") == true
    }

    private func answerTokenChallenge(_ exchange: HTTPExchange, isForToken: Bool, _ context: RequestContext) {
        guard isForToken else {
            let problem = "purpose is not token"
            return refuse(exchange, .token(.invalidRequest, detail: problem, reason: problem), context)
        }
        metrics.challengeIssued()
        exchange.respond(JSONAnswers.tokenChallenge(services.challenges.issueForToken(at: context.moment)))
    }

    private func refuse(_ exchange: HTTPExchange, _ refusal: Refusal, _ context: RequestContext) {
        record.requestRefused(refusal, context)
        exchange.respond(JSONAnswers.refusal(refusal, requestID: context.id))
    }

    /// The block list names the client's address.
    func refuseBlocked(_ exchange: HTTPExchange, _ refusal: Refusal, _ context: RequestContext) {
        let isForToken = exchange.head.isMethod("POST") && RequestPath(exchange.head) == .challenge
        refuse(
            exchange,
            isForToken ? refusal.forTokenClient() : Registrar.phrased(refusal, forProofs: exchange.head.texts("dpop")),
            context)
    }

    /// Verifying takes milliseconds, and the store and the audit log wait for the disk, so registrations have their own
    /// threads. The answer is sent on the reactor.
    func register(_ exchange: HTTPExchange, _ context: RequestContext) {
        guard pending.begin() else {
            let refusal = Refusal(
                .attestationUnavailable, detail: "too many registrations at once",
                retryAfter: PendingRegistrations.retryAfterSeconds, failed: FailedCheck(.queue))
            let proofs = exchange.head.texts("dpop")
            return answer(exchange, .refused(Registrar.phrased(refusal, forProofs: proofs)), context)
        }
        let reactor = exchange.reactor
        let request = TokenRequest(exchange, tokens, context)
        let pinned = Pinned((exchange: exchange, endpoints: self), to: reactor)
        Task(executorPreference: pending.threads) { [registrar = services.registrar, record, pending] in
            let outcome = await registrar.register(request) { key in
                record.refuseUnwritten(key, context)
            }
            reactor.submit {
                pinned.value.endpoints.answer(pinned.value.exchange, outcome, context)
                pending.end()
            }
        }
    }

    private func answer(_ exchange: HTTPExchange, _ outcome: RegistrationOutcome, _ context: RequestContext) {
        record.registered(outcome, context)
        switch outcome {
        case .registered(let key) where key.isInTokenDialect:
            exchange.respond(JSONAnswers.registered(key))
        case .registered: exchange.respond(JSONAnswers.registered())
        case .refused(let refusal), .unstored(let refusal):
            exchange.respond(JSONAnswers.refusal(refusal, requestID: context.id))
        }
    }
}
