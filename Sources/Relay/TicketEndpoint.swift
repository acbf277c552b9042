import Admission
import HTTPWire
import Observability
import Reactors

/// `POST /ticket`: whoever the gate would admit gets a ticket for one upgrade that can't carry its credentials. Reactor thread.
///
/// The credentials are those of an upgrade, checked and used up in the same way; no session begins. The body doesn't matter, and a ticket
/// isn't taken for another here.
final class TicketEndpoint {
    private let gate: Gate
    private let record: DecisionRecord

    /// - Parameter gate: one that has tickets.
    init(gate: Gate, record: DecisionRecord) {
        self.gate = gate
        self.record = record
    }

    func issue(_ exchange: HTTPExchange, _ context: RequestContext) {
        if let name = exchange.head.firstRepeated(RequestHead.credentialFields) {
            let refusal = Refusal(.malformedRequest, detail: "\(name) stands there twice")
            return refuse(exchange, refusal, by: .none, context)
        }
        let request = AdmissionRequest(
            exchange.head, isTLS: exchange.isTLS, certificate: exchange.certificate, context)
        switch gate.authenticate(request) {
        case .authenticated(let principal): answer(exchange, to: principal, context)
        case .refused(let refusal): refuse(exchange, refusal, by: GateWay(attemptedBy: request), context)
        }
    }

    private func answer(_ exchange: HTTPExchange, to principal: Principal, _ context: RequestContext) {
        switch gate.issueTicket(to: principal, from: context.address, at: context.moment) {
        case .issued(let issued):
            if let refusal = record.refuseUnwrittenTicket(to: principal, context) {
                gate.withdraw(issued)
                return refuse(exchange, refusal, by: GateWay(principal), context)
            }
            exchange.respond(
                JSONAnswers.json(
                    200, JSONAnswers.TicketBody(ticket: issued.ticket.text, expiresIn: String(issued.expiresIn))))
        case .full(let seconds):
            let refusal = Refusal(.ticketsExhausted, detail: "no room for another ticket", retryAfter: seconds)
            refuse(exchange, refusal, by: GateWay(principal), context)
        case .chainEnded:
            refuse(exchange, Refusal(.appAuthRequired, detail: "credentials are due again"), by: .ticket, context)
        case .refused(let refusal): refuse(exchange, refusal, by: GateWay(principal), context)
        }
    }

    private func refuse(_ exchange: HTTPExchange, _ refusal: Refusal, by way: GateWay, _ context: RequestContext) {
        record.ticketRefused(refusal, way: way, context)
        exchange.respond(JSONAnswers.refusal(refusal, requestID: context.id))
    }
}
