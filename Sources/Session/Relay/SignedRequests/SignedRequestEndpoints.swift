package import Admission
import BlockingWork
import HTTPWire
package import KeyStore
import Observability
import Reactors
import WireText

/// The services behind the endpoints of requests that are signed one by one; shared by all reactors.
package struct SignedRequestServices: Sendable {
    package var challenges: Challenges
    package var limits: EndpointLimits
    package var registrar: Registrar
    /// `SIGNED_REQUESTS_PREFIX`: before the paths; empty: nothing.
    package var prefix: String
    package typealias ErasureStep = @Sendable (KeyID) async throws(KeyRegistryError) -> Void
    /// From then on the key is refused; durable.
    package var beginErasure: ErasureStep
    /// Waits until the key's sessions are closed, and forgets it.
    package var finishErasure: ErasureStep

    package init(
        challenges: Challenges, limits: EndpointLimits, registrar: Registrar, prefix: String,
        beginErasure: @escaping ErasureStep, finishErasure: @escaping ErasureStep
    ) {
        self.challenges = challenges
        self.limits = limits
        self.registrar = registrar
        self.prefix = prefix
        self.beginErasure = beginErasure
        self.finishErasure = finishErasure
    }
}

extension SignedRequestServices {
    fileprivate func finish(_ begun: UnregistrationOutcome) async -> UnregistrationOutcome {
        guard case .begun(let key) = begun else { return begun }
        do throws(KeyRegistryError) { try await finishErasure(key) } catch { return Registrar.unfinished(error) }
        return begun
    }
}

/// The paths of these endpoints, behind the prefix.
enum SignedRequestPath: String, CaseIterable {
    case challenge = "/challenge"
    case register = "/register"
    case unregister = "/unregister"
    /// POST registers, DELETE unregisters.
    case devices = "/devices"

    init?(_ head: RequestHead, prefix: String) {
        let path = RequestPath.simplified(head.path)
        guard path.starts(with: prefix.utf8) else { return nil }
        let rest = path.dropFirst(prefix.utf8.count)
        guard let found = Self.allCases.first(where: { rest.elementsEqual($0.rawValue.utf8) }) else { return nil }
        self = found
    }

    var methods: [RequestMethod] {
        switch self {
        case .challenge: [.get, .head, .post, .options]
        case .register, .unregister: [.post, .options]
        case .devices: [.post, .delete, .options]
        }
    }
}

/// `/challenge`, `/register`, `/unregister` and `/devices`. Reactor thread, except for registrations.
final class SignedRequestEndpoints {
    private let services: SignedRequestServices
    private let gate: Gate
    private let record: DecisionRecord
    private let metrics: GatewayMetrics
    private let pending: PendingWork
    private let ending: PendingWork

    init(
        services: SignedRequestServices, gate: Gate, record: DecisionRecord, metrics: GatewayMetrics,
        pending: PendingWork, ending: PendingWork
    ) {
        self.services = services
        self.gate = gate
        self.record = record
        self.metrics = metrics
        self.pending = pending
        self.ending = ending
    }

    func path(of head: RequestHead) -> SignedRequestPath? { SignedRequestPath(head, prefix: services.prefix) }

    func handle(_ exchange: HTTPExchange, _ path: SignedRequestPath, _ context: RequestContext) {
        if let refusal = gate.refuseBlocked(context.address) { return refuse(exchange, refusal, context) }
        switch path {
        case .challenge: challenge(exchange, context)
        case .devices where exchange.head.isMethod("DELETE"): unregister(exchange, context)
        case .register, .devices: register(exchange, context)
        case .unregister: unregister(exchange, context)
        }
    }

    /// What a client says about itself in its body changes nothing: a challenge belongs to nobody, and an issued one
    /// leaves no state.
    private func challenge(_ exchange: HTTPExchange, _ context: RequestContext) {
        if let refusal = services.limits.refuseChallenge(to: context.address, at: context.moment.monotonic) {
            return refuse(exchange, refusal, context)
        }
        metrics.challengeIssued()
        exchange.respond(JSONAnswers.signedChallenge(services.challenges.issueForSigned(at: context.moment)))
    }

    private func register(_ exchange: HTTPExchange, _ context: RequestContext) {
        guard pending.begin() else {
            return answer(exchange, .refused(Self.busy), context)
        }
        let request = SignedEndpointRequest(exchange, context)
        let pinned = Pinned((exchange: exchange, endpoints: self), to: exchange.reactor)
        Task(executorPreference: pending.threads) { [registrar = services.registrar, gate, record, pending] in
            let outcome = await registrar.registerSigned(request, ifBlocked: gate.refuseBlocked) {
                record.refuseUnwritten($0, context)
            }
            pinned.reactor.submit {
                pinned.value.endpoints.answer(pinned.value.exchange, outcome, context)
                pending.end()
            }
        }
    }

    /// Its place among registrations is free as soon as nothing is used up any more.
    private func unregister(_ exchange: HTTPExchange, _ context: RequestContext) {
        guard ending.begin() else { return end(exchange, .refused(Self.busy), context) }
        guard pending.begin() else {
            ending.end()
            return end(exchange, .refused(Self.busy), context)
        }
        let request = SignedEndpointRequest(exchange, context)
        let pinned = Pinned((exchange: exchange, endpoints: self), to: exchange.reactor)
        Task(executorPreference: pending.threads) { [services, gate, record, pending, ending] in
            let begun = await services.registrar.unregister(
                request, ifBlocked: gate.refuseBlocked, unless: { record.refuseUnwrittenEnd(of: $0, context) },
                begin: services.beginErasure)
            pending.end()
            let outcome = await services.finish(begun)
            pinned.reactor.submit {
                pinned.value.endpoints.end(pinned.value.exchange, outcome, context)
                ending.end()
            }
        }
    }

    private static var busy: Refusal {
        Refusal(
            .attestationUnavailable, detail: "too many registrations at once",
            retryAfter: PendingRegistrations.retryAfterSeconds, failed: FailedCheck(.queue))
    }

    // MARK: Answers

    private func answer(_ exchange: HTTPExchange, _ outcome: RegistrationOutcome, _ context: RequestContext) {
        record.registered(outcome, context)
        switch outcome {
        case .registered(let key): exchange.respond(next(key.wasKnown ? 200 : 201, exchange.reactor))
        case .refused(let refusal), .unstored(let refusal):
            exchange.respond(JSONAnswers.refusal(refusal, requestID: context.id))
        }
    }

    private func end(_ exchange: HTTPExchange, _ outcome: UnregistrationOutcome, _ context: RequestContext) {
        switch outcome {
        case .begun: exchange.respond(next(200, exchange.reactor))
        case .refused(let refusal): answer(exchange, .refused(refusal), context)
        case .unstored(let refusal): answer(exchange, .unstored(refusal), context)
        }
    }

    private func next(_ status: Int, _ reactor: Reactor) -> HTTPAnswer {
        JSONAnswers.nextChallenge(status, services.challenges.issueForSigned(at: reactor.moment))
    }

    private func refuse(_ exchange: HTTPExchange, _ refusal: Refusal, _ context: RequestContext) {
        record.requestRefused(refusal, context)
        exchange.respond(JSONAnswers.refusal(refusal, requestID: context.id))
    }
}

extension SignedEndpointRequest {
    fileprivate init(_ exchange: HTTPExchange, _ context: RequestContext) {
        self.init(
            method: String(decoding: exchange.head.method, as: UTF8.self),
            fields: SignedFields(exchange.head.texts), body: exchange.body, address: context.address,
            moment: context.moment)
    }
}
