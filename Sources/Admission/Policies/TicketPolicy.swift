import KeyStore

/// The way of clients that can't send headers: a ticket in the URL. One that is there, even an empty one, chooses this way, and from here
/// there is none back.
///
/// Tickets can be had in turn, one for the next, without end, so what a ticket stands for is looked at again: a key must be registered,
/// of a configured app and not revoked, as for an assertion. The shared secret that was shown for it must still be one; a ticket of the
/// operator's own needs none.
struct TicketPolicy: AdmissionPolicy {
    let office: TicketOffice
    let appAttest: AppAttestSettings?
    let checksCertificates: Bool
    /// `nil`: none is demanded.
    let secrets: SharedSecrets?

    func evaluate(_ request: AdmissionRequest) throws(KeyRegistryError) -> PolicyOutcome {
        guard let text = request.ticket else { return .noOpinion }
        let spending = office.spend(text, at: request.moment.monotonic) { holder in
            request.allowedWays?.contains(holder.admissionWay) ?? true
        }
        switch spending {
        case .spent(let ticket): return try evaluate(Principal(ticket))
        case .unknown: return .refused(.invalidTicket, "ticket is malformed, not of this process, or spent")
        case .expired: return .refused(.invalidTicket, "ticket has expired")
        case .wayNotAllowed: return .refused(.wayNotAllowed, "the route is not open to the ticket's holder")
        }
    }

    private func evaluate(_ principal: Principal) throws(KeyRegistryError) -> PolicyOutcome {
        if let secrets, principal.admissionWay != .ticket {
            guard let secret = principal.secret, secrets.contains(secret) else {
                return .refused(.invalidTicket, "the shared secret that the ticket stands for isn't one any more")
            }
        }
        switch principal.way {
        case .appAttest(let id, _):
            guard let appAttest, let key = try appAttest.registry.standing(of: id) else {
                return .refused(.invalidTicket, "the ticket's key is not registered any more")
            }
            guard !key.isRevoked else { return .refused(.keyRevoked, "the ticket's key is revoked") }
            guard appAttest.scope.app(of: key) != nil else {
                return .refused(.invalidTicket, "the ticket's key is not of a configured app any more")
            }
        case .debugCertificate:
            guard checksCertificates else { return .refused(.invalidTicket, "client certificates are off") }
        case .operatorTicket, .anonymous: break
        }
        return .admitted(principal)
    }
}

/// Stands in the place of ``TicketPolicy`` where there are no tickets. One is a credential that can't be right here.
struct NoTicketPolicy: AdmissionPolicy {
    func evaluate(_ request: AdmissionRequest) -> PolicyOutcome {
        request.ticket == nil ? .noOpinion : .refused(.invalidTicket, "tickets are not configured")
    }
}

extension SpentTicket.Holder {
    fileprivate var admissionWay: AdmissionWay {
        switch self {
        case .bearer: .ticket
        case .principal(let way): way.admissionWay
        }
    }
}
