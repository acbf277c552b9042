/// For clients that can't send headers: a ticket in the URL. Its presence, even if empty, selects this method.
///
/// A client that obtained its ticket with another credential keeps that identity. A ticket issued by the operator is an identity of its
/// own.
package struct TicketMethod: AdmissionMethod {
    package static let name = MethodName(
        label: "ticket", route: "ticket", proxy: "operator_ticket", proxyByTicket: "operator_ticket", holders: .visitors
    )

    static let parameter = "ticket"

    /// `nil`: tickets are disabled, and every ticket is refused.
    package let office: TicketOffice?

    package init(office: TicketOffice?) { self.office = office }

    /// An operator's ticket proves nothing that could be taken back; other tickets pass their holder's proof on.
    package typealias Proof = NoProof

    /// An operator's ticket needs no shared secret.
    package var traits: MethodTraits {
        MethodTraits(
            name: Self.name, identityNames: [Self.name], fields: CredentialFieldNames(parameters: [Self.parameter]),
            cost: 1, needsSharedSecret: false, challenge: nil, exemption: nil)
    }

    package func credential(in request: AdmissionRequest) -> String? { request.fields.parameter(Self.parameter) }

    package func claim(of ticket: String) -> Claim {
        var claim = Claim(method: nil)
        claim.standsForSecret = true
        return claim
    }

    package func verify(_ ticket: String, of request: AdmissionRequest) -> Verification {
        guard let office else { return .refused(.invalidTicket, "tickets are not configured") }
        if let tickets = office.tickets {
            return .later { answer in
                office.spend(ticket, in: tickets, for: request) { answer($0.map(Self.verification)) }
            }
        }
        switch office.spend(ticket, at: request.moment.monotonic, isAllowed: { request.allows($0.method) }) {
        case .spent(let spent): return .given(Principal(spent))
        case .unknown:
            guard let kept = office.local else { return Self.unknown }
            return .later { answer in
                office.spend(ticket, in: kept, for: request) { answer($0.map(Self.verification)) }
            }
        case .expired: return .refused(.invalidTicket, "ticket has expired")
        case .methodNotAllowed: return Self.notAllowed
        }
    }

    private static func verification(_ spending: StoredTicketSpending) -> Verification {
        switch spending {
        case .spent(let held): .held(held)
        case .unknown: unknown
        case .methodNotAllowed: notAllowed
        }
    }

    private static var unknown: Verification {
        .refused(.invalidTicket, "ticket is malformed, from another process, or used up")
    }
    private static var notAllowed: Verification {
        .refused(.wayNotAllowed, "the route doesn't allow the method of the ticket's holder")
    }

    /// A ticket shows its holder only when it is spent.
    package func revocation(of ticket: String, at moment: Moment) -> Refusal? { nil }

    /// Operator tickets stay valid under every setting.
    package func recheck(_ principal: Principal, at moment: Moment) -> Refusal? { nil }
}

extension Identity {
    /// The identity of the bearer of an operator's ticket.
    static func operatorTicket(_ id: TicketID) -> Identity { Identity(method: TicketMethod.name, subject: id.text) }
}
