/// Some routes are closed to some ways of admission. The way that a client has chosen shows before its credentials are used up; the way
/// behind a ticket only ``TicketPolicy`` knows, which spends none that doesn't fit. No credentials are the last policy's matter.
struct WayPolicy: AdmissionPolicy {
    let checksCertificates: Bool

    func evaluate(_ request: AdmissionRequest) -> PolicyOutcome {
        guard let allowed = request.allowedWays, request.ticket == nil, let way = way(of: request),
            !allowed.contains(way)
        else { return .noOpinion }
        return .refused(.wayNotAllowed, "the route is not open to \(way.rawValue)")
    }

    private func way(of request: AdmissionRequest) -> AdmissionWay? {
        if request.assertion.arePresent { return .app }
        return checksCertificates && request.certificate != nil ? .certificate : nil
    }
}
