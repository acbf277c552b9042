import KeyStore

/// For clients that can't send headers: a ticket in the URL. Its presence, even if empty, selects this method.
///
/// A client that obtained its ticket with another credential keeps that identity. A ticket issued by the operator is an
/// identity of its own.
package struct TicketMethod: AdmissionMethod {
    package static let name = MethodName(
        label: "ticket", route: "ticket", proxy: "operator_ticket", proxyByTicket: "operator_ticket", holders: .visitors
    )
    /// The same for a ticket that proves an account: it opens no route.
    static let accountName = MethodName(
        label: "ticket", route: nil, proxy: "operator_ticket", proxyByTicket: "operator_ticket", holders: .visitors,
        isOnlyByName: true)

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

    package func verify(_ ticket: String, of request: AdmissionRequest) -> Inquiry<Verification> {
        guard let office else { return .known(.refused(.invalidTicket, "tickets are not configured")) }
        guard office.place.answersAtOnce else {
            return TicketHash(ticket).map { .steps(FleetTicketSteps($0, request, office)) } ?? .known(.unknownTicket)
        }
        switch office.spend(ticket, at: request.moment.monotonic, isAllowed: { request.allows($0.method) }) {
        case .spent(let spent): return .known(.given(Principal(spent)))
        case .unknown:
            guard office.keeper != nil, let hash = TicketHash(ticket) else { return .known(.unknownTicket) }
            return .steps(KeptTicketSteps(hash, request, office))
        case .expired: return .known(.refused(.invalidTicket, "ticket has expired"))
        case .methodNotAllowed: return .known(.ticketNotAllowed)
        }
    }

    /// A ticket shows its holder only when it is spent.
    package func revocation(of ticket: String) -> Inquiry<Refusal?> { .known(nil) }

    /// Operator tickets stay valid under every setting.
    package func recheck(_ principal: Principal, at moment: Moment) -> Inquiry<Refusal?> { .known(nil) }
}

extension Identity {
    /// The identity of the bearer of an operator's ticket.
    ///
    /// - Parameter account: that it proves.
    static func operatorTicket(_ id: TicketID, proves account: AccountID? = nil) -> Identity {
        Identity(method: account == nil ? TicketMethod.name : TicketMethod.accountName, subject: id.text)
    }
}

extension CarriedPrincipal {
    /// The holder of a ticket that proves an account, in a fleet. Programs of before don't read the account; they know
    /// no such method, and so they admit nobody with the ticket as if it were another one of the operator's.
    static func ofAccountTicket(_ id: TicketID) -> CarriedPrincipal {
        let method = MethodName(label: "account_ticket", route: nil, holders: .visitors)
        return CarriedPrincipal(
            identity: CarriedIdentity(Identity(method: method, subject: id.text)), proof: nil, ticketChainEnd: nil,
            secret: nil, isByToken: false)
    }
}

extension AdmissionRequest {
    /// Whether the route admits the holder of a ticket that a store has.
    func allows(_ content: TicketContent) -> Bool {
        content.isOnlyByName == true && allowedMethods == nil ? isWithoutRoute : allows(route: content.route)
    }
}
