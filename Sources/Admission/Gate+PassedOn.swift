import StateCoding

/// Upgrades that other gateways of the fleet pass on.
///
/// Another gateway may claim anything about its client: an address, a certificate, a principal. So whatever it claims, the client may only
/// resume a session of this gateway whose token it has, as that session's owner. It gets no ``SessionPermit``.
extension Gate {
    /// Decides about such an upgrade, by the same rules as about one of this gateway's own clients.
    ///
    /// - Parameter carried: the client, if the other gateway has admitted it already; nil: the upgrade has the client's credentials.
    package func evaluate(_ request: AdmissionRequest, passedOnAs carried: [UInt8]?) -> AdmissionDecision {
        if let carried { return readmit(carried, for: request) }
        let policies = upgradePolicies + [ResumePolicy(find: settings.findSession)]
        return decide(on: request, by: policies).seating { seatOwner($0, for: request) }
    }

    /// A client that is admitted if it would be admitted now by the credential that the other gateway has seen.
    private func readmit(_ carried: [UInt8], for request: AdmissionRequest) -> AdmissionDecision {
        guard let carried = try? StateDecoder.decode(CarriedPrincipal.self, from: carried, demandsASCII: true),
            let restored = try? carrier.restore(carried)
        else { return .refused(Refusal(.invalidResume, detail: "another gateway's client isn't known here")) }
        // The time is of another machine's clock: there are no further tickets.
        let principal = restored.endingTickets(at: request.moment.monotonic)
        guard !settings.drain.refusesNewcomers else {
            return .refused(Refusal(.draining, detail: "draining", retryAfter: 1).naming(principal.shown))
        }
        if let refusal = ResumePolicy(find: settings.findSession).refusal(of: request) {
            return .refused(refuse(refusal, request))
        }
        return .later(
            LaterDecision { body in
                prepareRecheck(of: principal, at: request.moment) { body(readmitted(principal, request)) }
            })
    }

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
struct ResumePolicy: AdmissionPolicy {
    let find: @Sendable (SessionCredential, MonotonicTime) -> FoundSession?

    func evaluate(_ attempt: AdmissionAttempt) -> PolicyOutcome {
        refusal(of: attempt.request).map { .refused($0) } ?? .passed
    }

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
