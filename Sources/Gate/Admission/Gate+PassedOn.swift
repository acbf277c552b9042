import StateCoding

/// Clients that resume a session of another gateway of the fleet: here, by word of the gateway that they have reached,
/// or there.
///
/// Another gateway may claim anything about its client: an address, a principal. So whatever it claims, the client may
/// only resume a session of this gateway whose token it has, as that session's owner. It gets no ``SessionPermit``.
extension Gate {
    /// Decides about such an upgrade here. The client must be one that would be admitted now, by the credential that
    /// admitted it.
    ///
    /// - Parameter carried: the client, if the other gateway has admitted it; nil: it has nothing but the session's
    ///   token, which is enough for sessions that began with a ticket.
    package func evaluate(_ request: AdmissionRequest, passedOnAs carried: [UInt8]?) -> AdmissionDecision {
        // The time is of another machine's clock: there are no further tickets.
        let claimed = carried.flatMap { restore($0)?.endingTickets(at: request.moment.monotonic) }
        if carried != nil, claimed == nil {
            return .refused(Refusal(.invalidResume, detail: "another gateway's client isn't known here"))
        }
        guard !settings.drain.refusesNewcomers else {
            let refusal = Refusal(.draining, detail: "draining", retryAfter: 1)
            return .refused(refusal.naming(claimed?.shown ?? SessionTokenMethod.name))
        }
        if let refusal = ResumePolicy(find: settings.findSession).refusal(of: request) {
            return .refused(refuse(refusal, request))
        }
        guard let principal = claimed ?? bearer(of: request) else {
            // The other gateway may know the client by something else.
            let detail = "another gateway's client, which has nothing but a session's token"
            return .refused(Refusal(.invalidResume, detail: detail).naming(SessionTokenMethod.name))
        }
        return .later(
            LaterDecision { body in
                prepareRecheck(of: principal, at: request.moment) { body(readmitted(principal, request)) }
            })
    }

    private func restore(_ carried: [UInt8]) -> Principal? {
        guard let carried = try? StateDecoder.decode(CarriedPrincipal.self, from: carried, demandsASCII: true) else {
            return nil
        }
        return try? carrier.restore(carried)
    }

    private func bearer(of request: AdmissionRequest) -> Principal? {
        let method = settings.methods.lazy.compactMap { $0 as? SessionTokenMethod }.first
        return method.flatMap { $0.credential(in: request) }
    }

    // MARK: For a session of another gateway

    /// Whether the session's token is all that could admit this client, so that only the gateway that has the session
    /// can say who it is.
    package func knowsOnlyToken(of request: AdmissionRequest) -> Bool {
        guard let index = settings.methods.firstIndex(where: { $0 is SessionTokenMethod }) else { return false }
        return settings.methods[..<index].allSatisfy { $0.presented(in: request) == nil }
    }

    /// The client whose session another gateway has said it is.
    ///
    /// - Returns: nil where it can't be known here.
    package func bearer(carried: [UInt8], at time: MonotonicTime) -> Principal? {
        restore(carried)?.endingTickets(at: time)
    }

    // MARK: Readmitted

    private func readmitted(_ principal: Principal, _ request: AdmissionRequest) -> AdmissionDecision {
        let refusal =
            recheck(principal, from: request.address, at: request.moment)
            ?? RoutePolicy.refusal(of: principal.identity.method, request)
        return refusal.map { .refused($0.naming(principal.shown)) } ?? seatOwner(principal, for: request)
    }

    /// The session may have ended while the client was verified.
    private func seatOwner(_ principal: Principal, for request: AdmissionRequest) -> AdmissionDecision {
        let policy = ResumePolicy(find: settings.findSession)
        if let refusal = policy.refusal(of: request, by: principal.identity) {
            return .refused(refuse(refusal, request))
        }
        return seat(principal, for: request, nil)
    }

    private func refuse(_ refusal: Refusal, _ request: AdmissionRequest) -> Refusal {
        afterCounting(refusal, of: AdmissionAttempt(request, by: []))
    }
}

/// The client names a session of this gateway, and has its token.
struct ResumePolicy {
    let find: @Sendable (SessionCredential, MonotonicTime) -> FoundSession?

    /// - Parameter owner: who must have begun the session; nil: this isn't known yet.
    func refusal(of request: AdmissionRequest, by owner: Identity? = nil) -> Refusal? {
        guard let session = request.session else {
            return Refusal(.invalidResume, detail: "another gateway's client that resumes no session")
        }
        guard let found = find(session, request.moment.monotonic) else {
            return Refusal(.invalidResume, detail: "another gateway's client, whose session or token is unknown")
        }
        guard owner.map(found.belongs(to:)) ?? true else {
            return Refusal(.invalidResume, detail: "another gateway's client, to whom the session doesn't belong")
        }
        return nil
    }
}
