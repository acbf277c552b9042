import KeyStore
import StateCoding
package import WireText

/// Decides every upgrade, on the reactor that received it. Later stages see only clients that it has admitted.
///
/// The request selects one admission method: the first in the list that finds its credential. Then the policies, which
/// are independent of the method, may refuse. Then the selected method verifies; no other one is tried. A request that
/// nothing admits is refused. The order is part of the contract: handshake, draining, block, origin, capacity, rate,
/// shared secret, route, then the method's own steps (of App Attest: challenge, key, signature, counter).
///
/// - Steps that spend something of the client's (a ticket, the challenge, then the counter) come after all checks that
///   spend nothing.
/// - Among those checks, the cheap ones that need no proof come first: a blocked client learns nothing else about the
///   gateway.
/// - Guesses at the shared secret are rate-limited like all others, so its check follows the rate and precedes all more
///   expensive checks.
///
/// A gate is a value. A new gate over the same objects (tables, challenges, tickets, registry) continues with their
/// state; a reload uses this to change settings.
package struct Gate: Sendable {
    /// The header fields and query parameters to read from requests.
    package let fields: CredentialFieldNames
    let upgradePolicies: [any AdmissionPolicy]
    private let credentialPolicies: [any AdmissionPolicy]
    let settings: GateSettings
    /// In the order of the settings.
    let methods: [GateMethod]
    private let block: BlockPolicy
    let proof: ProofCheck
    private let tickets: TicketOffice?

    package init(_ settings: GateSettings) {
        self.settings = settings
        methods = settings.methods.map(GateMethod.init)
        let names = methods.map(\.traits.fields)
        fields = CredentialFieldNames(
            headers: names.flatMap(\.headers), parameters: names.flatMap(\.parameters), lists: names.flatMap(\.lists))
        block = BlockPolicy(list: BlockLists(own: settings.blockList, fleet: settings.fleetBlockList))
        proof = ProofCheck(methods, sharedSecrets: settings.sharedSecrets)
        tickets = settings.methods.lazy.compactMap { ($0 as? TicketMethod)?.office }.first
        let state: [any AdmissionPolicy] = [
            DrainingPolicy(drain: settings.drain), block,
            OriginPolicy(allowed: Set(settings.allowedOrigins), allowsMissing: settings.allowsMissingOrigin),
        ]
        let secrets = settings.sharedSecrets.map { [SharedSecretPolicy(secrets: $0)] } ?? []
        let credentials: [any AdmissionPolicy] =
            [RatePolicy(limits: settings.limits, checksSecrets: settings.sharedSecrets != nil)] + secrets
            + [RoutePolicy()]
        credentialPolicies = state + credentials
        upgradePolicies =
            [HandshakePolicy()] + state
            + [CapacityPolicy(leases: settings.leases, mayComeBack: settings.mayComeBack)] + credentials
    }

    /// This gate with changed settings and the same state.
    package func changed(_ change: (inout GateSettings) -> Void) -> Gate {
        var settings = settings
        change(&settings)
        return Gate(settings)
    }

    /// For a session of an earlier process, whose client was admitted there; `nil`: there are too many.
    package func leaseForRestored() -> SessionLease? { settings.leases.claim(forReturning: true) }

    /// Brings clients across to another process, and back from an earlier one.
    package var carrier: PrincipalCarrier { PrincipalCarrier(methods) }

    /// Refuses a blocked address; for endpoints without policies.
    package func refuseBlocked(_ address: IPAddress) -> Refusal? { block.refusal(of: address) }

    /// The same for an identity that a client claims.
    package func refuseBlocked(_ identity: Identity) -> Refusal? { block.refusal(of: identity) }

    /// The same for a client that was verified, by any of its names.
    func refuseBlocked(_ principal: Principal) -> Refusal? {
        principal.names.lazy.compactMap { block.refusal(of: $0) }.first
    }

    /// For an upgrade whose session may be at another gateway: finding out costs as much as a credential, and so the
    /// same policies precede it. All of them follow.
    package func screen(_ request: AdmissionRequest) -> Refusal? {
        let attempt = AdmissionAttempt(request, by: [])
        let rate = RatePolicy(limits: settings.limits, checksSecrets: false)
        for policy in [block, rate] as [any AdmissionPolicy] {
            if case .refused(let refusal) = policy.evaluate(attempt) { return afterCounting(refusal, of: attempt) }
        }
        return nil
    }

    package func evaluate(_ request: AdmissionRequest) -> AdmissionDecision {
        decide(on: request, by: upgradePolicies).seating { seat($0, for: request, SessionPermit()) }
    }

    /// Authenticates a client by the same rules and at the same cost as an upgrade, but without a session: neither a
    /// handshake nor a free lease is needed.
    package func authenticate(_ request: AdmissionRequest) -> CredentialDecision {
        decide(on: request, by: credentialPolicies)
    }

    // MARK: Clients that were admitted earlier

    /// Whether the clock can end a session: then ``Principal/hasExpired(at:unlessOutlived:)`` has to be asked of each.
    package func mayExpire(unlessOutlived sessionsOutliveTokens: Bool) -> Bool {
        methods.contains { $0.method.proofType.mayExpire(unlessOutlived: sessionsOutliveTokens) }
    }

    /// Issues a ticket for one upgrade by this principal, unless ``recheck(_:from:at:)`` refuses the principal.
    package func issueTicket(to principal: Principal, from address: IPAddress, at moment: Moment) -> TicketIssue {
        if let refusal = recheck(principal, from: address, at: moment) { return .refused(refusal.failing(.holder)) }
        guard let tickets else {
            return .refused(Refusal(.invalidTicket, detail: "tickets are not configured"))
        }
        return tickets.issue(to: principal, from: address, at: moment.monotonic)
    }

    /// Issues a ticket as ``issueTicket(to:from:at:)``, also where a store that takes time has the tickets.
    package func ticket(for principal: Principal, from address: IPAddress, at moment: Moment) -> Progress<TicketIssue> {
        ticket(for: principal, from: address, at: moment) { [carrier] tickets, moment in
            tickets.make(for: principal, from: address, carriedBy: carrier, at: moment)
        }
    }

    /// Issues the next ticket of a session.
    ///
    /// - Parameter id: of the session, for ``endTickets(ofSession:keepingThem:at:)``.
    package func nextTicket(
        for principal: Principal, ofSession id: String, from address: IPAddress, at moment: Moment
    ) -> Progress<TicketIssue> {
        ticket(for: principal, from: address, at: moment) { [carrier] tickets, moment in
            tickets.makeNext(for: principal, ofSession: id, from: address, carriedBy: carrier, at: moment)
        }
    }

    private func ticket(
        for principal: Principal, from address: IPAddress, at moment: Moment,
        making make: @escaping @Sendable (TicketOffice, Moment) -> TicketIssueSteps.Made
    ) -> Progress<TicketIssue> {
        guard let tickets else { return .decided(issueTicket(to: principal, from: address, at: moment)) }
        let recheck = RecheckSteps(self, principal, from: address)
        return tickets.run(TicketIssueSteps(tickets, unless: recheck) { make(tickets, $0) }, at: moment) { [self] in
            unavailable($0)
        }
    }

    /// The same as ``ticket(for:from:at:)``; the answer comes on any thread, once.
    package func issueTicket(
        to principal: Principal, from address: IPAddress, at moment: Moment,
        then: @escaping @Sendable (TicketIssue) -> Void
    ) { ticket(for: principal, from: address, at: moment).whenDecided(then) }

    /// The same as ``nextTicket(for:ofSession:from:at:)``; the answer comes on any thread, once.
    package func issueNextTicket(
        to principal: Principal, ofSession id: String, from address: IPAddress, at moment: Moment,
        then: @escaping @Sendable (TicketIssue) -> Void
    ) { nextTicket(for: principal, ofSession: id, from: address, at: moment).whenDecided(then) }

    /// The next tickets of sessions outlive this process.
    package var keepsNextTickets: Bool { tickets?.keepsNext ?? false }

    /// A session has ended that may have next tickets.
    ///
    /// - Parameter keepingThem: its client didn't want it to end, and may come back with one.
    package func endTickets(ofSession id: String, keepingThem: Bool, at moment: Moment) {
        tickets?.end(session: id, keepingTickets: keepingThem, at: moment)
    }

    /// Withdraws a ticket that was never sent.
    package func withdraw(_ issued: IssuedTicket) { tickets?.withdraw(issued) }

    // MARK: One decision

    func decide(on request: AdmissionRequest, by policies: [any AdmissionPolicy]) -> CredentialDecision {
        let attempt = AdmissionAttempt(request, by: methods)
        return switch Decision(GateSteps(self, policies, attempt)).run(at: request.moment) {
        case .decided(let outcome): decision(outcome, of: attempt)
        case .later(let later): .later(later.map { decision($0, of: attempt) })
        }
    }

    private func decision(
        _ outcome: Result<CredentialDecision, KeyRegistryError>, of attempt: AdmissionAttempt
    ) -> CredentialDecision {
        switch outcome {
        case .success(let decision): decision
        case .failure(let error): .refused(afterCounting(unavailable(error), of: attempt))
        }
    }

    /// The client that holds a ticket of a store, as this gateway knows it.
    func resolve(_ verification: Verification, at moment: Moment) -> Verification {
        guard case .held(let ticket) = verification, let tickets else { return verification }
        do {
            return .given(try ticket.principal(by: carrier, at: (tickets.time(at: moment), moment.monotonic)))
        } catch {
            return .refused(.invalidTicket, "the ticket's holder can't be read: another version has written it")
        }
    }

    func exemption(from refusal: Refusal, of request: AdmissionRequest) -> (any AdmissionProof)? {
        methods.lazy.compactMap { $0.traits.exemption?(refusal, request) }.first
    }

    static func undecided(_ request: AdmissionRequest) -> Refusal {
        request.session == nil
            ? Refusal(.appAuthRequired, detail: "no credentials")
            : Refusal(.invalidResume, detail: "only a session's token, which can't admit this client by itself")
    }

    func unavailable(_ error: KeyRegistryError) -> Refusal {
        Refusal(.storeUnavailable, detail: "\(error)", retryAfter: max(1, settings.storeRetryAfter()))
    }

    /// The checks for every verified identity, independent of the method. For tickets, this is the first check of the
    /// block list and the route; for other methods it is the second, so that no method can forget it.
    func checking(_ principal: Principal, for attempt: AdmissionAttempt) -> CredentialDecision {
        func refuse(_ refusal: Refusal) -> CredentialDecision { .refused(refusal.naming(attempt.method)) }
        if let refusal = refuseBlocked(principal) { return refuse(refusal.failing(.identityBlocked)) }
        guard !proof.lacksSecret(principal) else {
            return refuse(Refusal(.sharedSecretRequired, detail: "the shared secret was not checked"))
        }
        if let refusal = RoutePolicy.refusal(of: principal.identity.method, attempt.request) { return refuse(refusal) }
        return .authenticated(principal)
    }

    /// Another request may have taken the last lease since ``CapacityPolicy`` looked.
    func seat(_ principal: Principal, for request: AdmissionRequest, _ permit: SessionPermit?) -> AdmissionDecision {
        let isReturning =
            settings.leases.isFull
            && (principal.isByToken || settings.mayComeBack(principal.identity, request.address))
        guard let globalLease = settings.leases.claim(forReturning: isReturning) else {
            let refusal = Refusal(
                .atCapacity, detail: "another request took the last session", retryAfter: CapacityPolicy.retryAfter,
                failed: FailedCheck(.lease))
            return .refused(refusal.naming(principal.shown))
        }
        return .admitted(Admitted(principal: principal, globalLease: globalLease, permit: permit))
    }

    /// Counts a failed upgrade against its address. Above the limit, the client gets the rate-limit refusal instead of
    /// the actual reason.
    func afterCounting(_ refusal: Refusal, of attempt: AdmissionAttempt) -> Refusal {
        let request = attempt.request
        if refusal.code.countsAsFailedUpgrade,
            case .over(let seconds) = settings.limits.countFailure(of: request.address, at: request.moment)
        {
            let detail = "over FAILED_UPGRADES_PER_MINUTE; \(refusal.code.rawValue): \(refusal.detail)"
            return Refusal(.rateLimited, detail: detail, retryAfter: seconds, failed: refusal.failed)
                .naming(attempt.method)
        }
        var refusal = refusal.naming(attempt.method)
        guard refusal.carriesChallenge else { return refusal }
        refusal.freshChallenge = challenge(after: refusal, at: request.moment)
        return refusal
    }

    /// Of the method that the client tried, or else of the first that has one.
    private func challenge(after refusal: Refusal, at moment: Moment) -> FreshChallenge? {
        let own = methods.first { $0.traits.name == refusal.method }
        return own?.traits.challenge?(moment) ?? methods.lazy.compactMap { $0.traits.challenge?(moment) }.first
    }
}

extension CredentialDecision {
    func seating(_ seat: @escaping @Sendable (Principal) -> AdmissionDecision) -> AdmissionDecision {
        switch self {
        case .authenticated(let principal): seat(principal)
        case .refused(let refusal): .refused(refusal)
        case .later(let later): .later(later.map { $0.seating(seat) })
        }
    }
}

extension Refusal {
    func naming(_ method: MethodName) -> Refusal {
        var refusal = self
        refusal.method = method
        return refusal
    }
}
