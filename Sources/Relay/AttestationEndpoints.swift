import Admission
import BlockingWork
import Observability
import Reactors
import Synchronization
import WireText

/// `GET /attest/challenge` and `POST /attest/register`. Reactor thread, except for the registration itself.
final class AttestationEndpoints {
    private let services: AttestationServices
    private let record: DecisionRecord
    private let metrics: GatewayMetrics
    private let pending: PendingRegistrations

    init(
        services: AttestationServices, record: DecisionRecord, metrics: GatewayMetrics, pending: PendingRegistrations
    ) {
        self.services = services
        self.record = record
        self.metrics = metrics
        self.pending = pending
    }

    /// An issued challenge leaves no state.
    func challenge(_ exchange: HTTPExchange, _ context: RequestContext) {
        if let refusal = services.limits.refuseChallenge(to: context.address, at: context.moment.monotonic) {
            record.requestRefused(refusal, context)
            return exchange.respond(JSONAnswers.refusal(refusal, requestID: context.id))
        }
        let issued = services.challenges.issue(at: context.moment)
        metrics.challengeIssued()
        exchange.respond(JSONAnswers.challenge(issued))
    }

    /// Verifying takes milliseconds, and the store and the audit log wait for the disk, so registrations have their own threads. The answer
    /// is sent on the reactor.
    func register(_ exchange: HTTPExchange, _ context: RequestContext) {
        guard pending.begin() else {
            let refusal = Refusal(
                .attestationUnavailable, detail: "too many registrations at once",
                retryAfter: PendingRegistrations.retryAfterSeconds)
            return answer(exchange, .refused(refusal), context)
        }
        let reactor = exchange.reactor
        let body = exchange.body
        let pinned = Pinned((exchange: exchange, endpoints: self), to: reactor)
        Task(executorPreference: pending.threads) { [registrar = services.registrar, record, pending] in
            let outcome = await registrar.register(body: body, from: context.address, at: context.moment) { key in
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
        case .registered: exchange.respond(JSONAnswers.registered())
        case .refused(let refusal), .unstored(let refusal):
            exchange.respond(JSONAnswers.refusal(refusal, requestID: context.id))
        }
    }
}

/// The number of registrations being verified or stored, over all reactors. Each one holds its body meanwhile.
final class PendingRegistrations: Sendable {
    /// 64 bodies of 64 KiB are 4 MiB; at a few milliseconds each, about a second of work for two cores.
    static let maximum = 64
    static let retryAfterSeconds = 2
    private static let threadCount = 2
    /// Only for registrations. A registration that waits for the store doesn't occupy a thread.
    let threads = BlockingThreads("registrations", count: threadCount)
    private let count = Mutex(0)

    var current: Int { count.withLock { $0 } }

    func begin() -> Bool {
        count.withLock { count in
            guard count < Self.maximum else { return false }
            count += 1
            return true
        }
    }

    func end() {
        count.withLock { $0 -= 1 }
    }
}
