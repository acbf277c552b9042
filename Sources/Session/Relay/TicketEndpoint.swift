import Admission
import HTTPWire
import Observability
import Reactors
import WireText

/// `POST /ticket`: a client that the gate would admit gets a ticket for an upgrade that can't carry credentials.
/// Reactor thread.
///
/// The credentials are checked and used up as for an upgrade, but no session begins. The body is ignored, but a
/// signed request's signature covers it. A ticket can't be exchanged for another one.
final class TicketEndpoint {
    private let gate: Gate
    private let record: DecisionRecord

    /// - Parameter gate: must have tickets.
    init(gate: Gate, record: DecisionRecord) {
        self.gate = gate
        self.record = record
    }

    func issue(_ exchange: HTTPExchange, _ context: RequestContext) {
        if let name = exchange.head.repeatedCredentialField(gate) {
            let refusal = Refusal(.malformedRequest, detail: "\(name) is repeated")
            return refuse(exchange, refusal, by: .none, context)
        }
        var request = AdmissionRequest(
            exchange.head, CredentialFields(gate.fields, exchange.head, parameters: nil),
            handshake: UpgradeHandshake(method: String(decoding: exchange.head.method, as: UTF8.self)),
            isTLS: exchange.isTLS, certificate: exchange.certificate, context)
        request.isWithoutRoute = true
        request.body = exchange.body
        answer(exchange, gate.authenticate(request), context)
    }

    private func answer(_ exchange: HTTPExchange, _ decision: CredentialDecision, _ context: RequestContext) {
        switch decision {
        case .authenticated(let principal): answer(exchange, to: principal, context)
        case .refused(let refusal): refuse(exchange, refusal, by: refusal.method, context)
        case .later(let later):
            let reactor = exchange.reactor
            let pinned = Pinned((exchange: exchange, endpoint: self), to: reactor)
            later.whenDecided { decision in
                reactor.submit { pinned.value.endpoint.answer(pinned.value.exchange, decision, context) }
            }
        }
    }

    private func answer(_ exchange: HTTPExchange, to principal: Principal, _ context: RequestContext) {
        let reactor = exchange.reactor
        switch gate.ticket(for: principal, from: context.address, at: reactor.moment) {
        case .decided(let issue): answer(exchange, issue, to: principal, context)
        case .later(let later):
            let pinned = Pinned((exchange: exchange, endpoint: self), to: reactor)
            later.whenDecided { issue in
                reactor.submit { pinned.value.endpoint.answer(pinned.value.exchange, issue, to: principal, context) }
            }
        }
    }

    private func answer(
        _ exchange: HTTPExchange, _ issue: TicketIssue, to principal: Principal, _ context: RequestContext
    ) {
        switch issue {
        case .issued(let issued):
            if let refusal = record.refuseUnwrittenTicket(to: principal, context) {
                gate.withdraw(issued)
                return refuse(exchange, refusal, by: principal.shown, context)
            }
            exchange.respond(JSONAnswers.ticket(issued))
        case .full(let seconds):
            let refusal = Refusal(.ticketsExhausted, detail: "no room for another ticket", retryAfter: seconds)
            refuse(exchange, refusal, by: principal.shown, context)
        case .chainEnded:
            refuse(
                exchange,
                Refusal(.appAuthRequired, detail: "credentials are due again", failed: FailedCheck(.holder)),
                by: TicketMethod.name, context)
        case .refused(let refusal): refuse(exchange, refusal, by: principal.shown, context)
        }
    }

    private func refuse(
        _ exchange: HTTPExchange, _ refusal: Refusal, by method: MethodName, _ context: RequestContext
    ) {
        record.ticketRefused(refusal, by: method, context)
        exchange.respond(JSONAnswers.refusal(refusal, requestID: context.id))
    }
}
