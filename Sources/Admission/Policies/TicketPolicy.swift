import KeyStore

/// The way of clients that can't send headers: a ticket in the URL. One that is there, even an empty one, chooses this way, and from here
/// there is none back.
///
/// One ticket follows from another, so what a ticket stands for is checked again each time: see ``ProofCheck``.
struct TicketPolicy: AdmissionPolicy {
    let office: TicketOffice
    let proof: ProofCheck

    func evaluate(_ request: AdmissionRequest) throws(KeyRegistryError) -> PolicyOutcome {
        guard let text = request.ticket else { return .noOpinion }
        let spending = office.spend(text, at: request.moment.monotonic) { holder in
            request.allowedWays?.contains(holder.admissionWay) ?? true
        }
        switch spending {
        case .spent(let ticket): return try evaluate(Principal(ticket), at: request.moment)
        case .unknown: return .refused(.invalidTicket, "ticket is malformed, not of this process, or spent")
        case .expired: return .refused(.invalidTicket, "ticket has expired")
        case .wayNotAllowed: return .refused(.wayNotAllowed, "the route is not open to the ticket's holder")
        }
    }

    private func evaluate(_ principal: Principal, at moment: Moment) throws(KeyRegistryError) -> PolicyOutcome {
        if let refusal = try proof.refusal(of: principal, at: moment) { return .refused(refusal) }
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
