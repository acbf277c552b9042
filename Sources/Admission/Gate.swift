import KeyStore
import StateCoding
package import WireText

/// Decides every upgrade, on the reactor that received it. Later stages see only clients that it has admitted.
///
/// The request selects one admission method: the first in the list that finds its credential. Then the policies, which are independent of
/// the method, may refuse. Then the selected method verifies; no other one is tried. A request that nothing admits is refused. The order is
/// part of the contract: handshake, draining, block, origin, capacity, rate, shared secret, route, then the method's own steps (of App
/// Attest: challenge, key, signature, counter).
///
/// - Steps that spend something of the client's (a ticket, the challenge, then the counter) come after all checks that spend nothing.
/// - Among those checks, the cheap ones that need no proof come first: a blocked client learns nothing else about the gateway.
/// - Guesses at the shared secret are rate-limited like all others, so its check follows the rate and precedes all more expensive checks.
///
/// A gate is a value. A new gate over the same objects (tables, challenges, tickets, registry) continues with their state; a reload uses
/// this to change settings.
package struct Gate: Sendable {
    /// The header fields and query parameters to read from requests.
    package let fields: CredentialFieldNames
    let upgradePolicies: [any AdmissionPolicy]
    private let credentialPolicies: [any AdmissionPolicy]
    let settings: GateSettings
    private let block: BlockPolicy
    private let proof: ProofCheck
    private let tickets: TicketOffice?

    package init(_ settings: GateSettings) {
        self.settings = settings
        let names = settings.methods.map(\.fields)
        fields = CredentialFieldNames(
            headers: names.flatMap(\.headers), parameters: names.flatMap(\.parameters), lists: names.flatMap(\.lists))
        block = BlockPolicy(list: BlockLists(own: settings.blockList, fleet: settings.fleetBlockList))
        proof = ProofCheck(settings.methods, sharedSecrets: settings.sharedSecrets)
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
    package var carrier: PrincipalCarrier { PrincipalCarrier(settings.methods) }

    /// Refuses a blocked address; for endpoints without policies.
    package func refuseBlocked(_ address: IPAddress) -> Refusal? { block.refusal(of: address) }

    /// The same for an identity that a client claims.
    package func refuseBlocked(_ identity: Identity) -> Refusal? { block.refusal(of: identity) }

    /// For an upgrade whose session may be at another gateway: finding out costs as much as a credential, and so the same policies precede it. All of them
    /// follow.
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

    /// Authenticates a client by the same rules and at the same cost as an upgrade, but without a session: neither a handshake nor a free
    /// lease is needed.
    package func authenticate(_ request: AdmissionRequest) -> CredentialDecision {
        decide(on: request, by: credentialPolicies)
    }

    // MARK: Clients that were admitted earlier

    /// Checks whether a client that was admitted earlier would be admitted now by the same credential. Called before that admission is used
    /// for anything new. Existing sessions continue whatever the result is.
    ///
    /// - Returns: `nil` if the proof is still valid. If this can't be determined, the client is refused.
    package func recheck(_ principal: Principal, from address: IPAddress, at moment: Moment) -> Refusal? {
        if let refusal = block.refusal(of: address) ?? block.refusal(of: principal.identity) { return refusal }
        do throws(KeyRegistryError) {
            return try proof.refusal(of: principal, at: moment)
        } catch {
            return unavailable(error)
        }
    }

    /// Fetches what ``recheck(_:from:at:)`` needs: without it the store may be unavailable to it. `then` is called once, on any thread.
    package func prepareRecheck(of principal: Principal, at moment: Moment, then: @escaping @Sendable () -> Void) {
        proof.prepare(principal, at: moment, then: then)
    }

    /// Issues a ticket for one upgrade by this principal, unless ``recheck(_:from:at:)`` refuses the principal.
    package func issueTicket(to principal: Principal, from address: IPAddress, at moment: Moment) -> TicketIssue {
        if let refusal = recheck(principal, from: address, at: moment) { return .refused(refusal.failing(.holder)) }
        guard let tickets else {
            return .refused(Refusal(.invalidTicket, detail: "tickets are not configured"))
        }
        return tickets.issue(to: principal, from: address, at: moment.monotonic)
    }

    /// In a fleet, whose store has the tickets. Then ``issueTicket(to:from:at:)`` issues none.
    package var issuesTicketsLater: Bool { tickets?.tickets != nil }

    /// The same in a fleet or alone; the answer comes on any thread, once.
    package func issueTicket(
        to principal: Principal, from address: IPAddress, at moment: Moment,
        then: @escaping @Sendable (TicketIssue) -> Void
    ) {
        guard let tickets, issuesTicketsLater else {
            return then(issueTicket(to: principal, from: address, at: moment))
        }
        proof.prepare(principal, at: moment) {
            if let refusal = recheck(principal, from: address, at: moment) {
                return then(.refused(refusal.failing(.holder)))
            }
            tickets.issue(to: principal, from: address, carriedBy: carrier, at: moment, then: then)
        }
    }

    /// The next tickets of sessions outlive this process. Then only ``issueNextTicket(to:ofSession:from:at:then:)`` issues them.
    package var keepsNextTickets: Bool { tickets?.keepsNext ?? false }

    /// Issues the next ticket of a session as ``issueTicket(to:from:at:)``; the answer comes on any thread, once.
    ///
    /// - Parameter id: of the session, for ``endTickets(ofSession:keepingThem:at:)``.
    package func issueNextTicket(
        to principal: Principal, ofSession id: String, from address: IPAddress, at moment: Moment,
        then: @escaping @Sendable (TicketIssue) -> Void
    ) {
        guard let tickets else { return then(issueTicket(to: principal, from: address, at: moment)) }
        proof.prepare(principal, at: moment) {
            if let refusal = recheck(principal, from: address, at: moment) {
                return then(.refused(refusal.failing(.holder)))
            }
            tickets.issueNext(
                to: principal, ofSession: id, from: address, carriedBy: carrier, at: moment, then: then)
        }
    }

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
        let attempt = AdmissionAttempt(request, by: settings.methods)
        var secret: SharedSecret?
        for policy in policies {
            switch policy.evaluate(attempt) {
            case .passed: continue
            case .showed(let shown): secret = shown
            case .refused(let refusal): return .refused(afterCounting(refusal, of: attempt))
            }
        }
        guard let chosen = attempt.chosen else { return refuse(Self.undecided(request), attempt, secret) }
        let outcome: Result<Verification, KeyRegistryError>
        do throws(KeyRegistryError) {
            outcome = .success(try chosen.verify(request))
        } catch {
            outcome = .failure(error)
        }
        guard case .success(.later(let start)) = outcome else {
            guard preparesRevocation(outcome, of: attempt) else {
                return conclude(outcome, of: attempt, by: chosen.method, secret)
            }
            return .later(
                LaterDecision { [secret] body in
                    prepare(outcome, of: attempt) {
                        body(conclude(outcome, of: attempt, by: chosen.method, secret))
                    }
                })
        }
        return .later(
            LaterDecision { [secret] body in
                start { found in
                    let outcome = found.map { resolve($0, at: request.moment) }
                    prepare(outcome, of: attempt) {
                        body(conclude(outcome, of: attempt, by: chosen.method, secret))
                    }
                }
            })
    }

    /// The client that holds a ticket of a store, as this gateway knows it.
    private func resolve(_ verification: Verification, at moment: Moment) -> Verification {
        guard case .held(let ticket) = verification, let tickets else { return verification }
        do {
            return .given(try ticket.principal(by: carrier, at: (tickets.time(at: moment), moment.monotonic)))
        } catch {
            return .refused(.invalidTicket, "the ticket's holder can't be read: another version has written it")
        }
    }

    /// Fetches what the conclusion can't wait for: it checks clients again that were admitted earlier, and looks for revocations before it admits one
    /// despite a refusal.
    private func prepare(
        _ outcome: Result<Verification, KeyRegistryError>, of attempt: AdmissionAttempt,
        then: @escaping @Sendable () -> Void
    ) {
        if case .success(.given(let principal)) = outcome {
            return proof.prepare(principal, at: attempt.request.moment, then: then)
        }
        guard preparesRevocation(outcome, of: attempt), let chosen = attempt.chosen else { return then() }
        chosen.prepareRevocation(attempt.request.moment, then)
    }

    private func preparesRevocation(
        _ outcome: Result<Verification, KeyRegistryError>, of attempt: AdmissionAttempt
    ) -> Bool {
        guard attempt.chosen?.method.preparesRevocations == true, case .success(.refused(let refusal)) = outcome
        else { return false }
        return admission(despite: refusal.naming(attempt.method), of: attempt) != nil
    }

    private func admission(despite refusal: Refusal, of attempt: AdmissionAttempt) -> (any AdmissionProof)? {
        settings.methods.lazy.compactMap { $0.admission(despite: refusal, of: attempt.request) }.first
    }

    private func conclude(
        _ outcome: Result<Verification, KeyRegistryError>, of attempt: AdmissionAttempt,
        by method: any AdmissionMethod, _ secret: SharedSecret?
    ) -> CredentialDecision {
        do throws(KeyRegistryError) {
            switch try principal(outcome.get(), by: method, at: attempt.request.moment) {
            case .success(let principal): return checking(principal.showing(secret), for: attempt)
            case .failure(let refused): return refuse(refused.refusal, attempt, secret)
            }
        } catch {
            return .refused(afterCounting(unavailable(error), of: attempt))
        }
    }

    /// Refuses a client for its credentials, unless a method admits it all the same (`REQUIRE_APP_AUTH=report`). Such a client is admitted by
    /// the same rules as anonymous ones, and not counted as a failed upgrade. A revoked key stays refused.
    private func refuse(
        _ refusal: Refusal, _ attempt: AdmissionAttempt, _ secret: SharedSecret?
    ) -> CredentialDecision {
        let named = refusal.naming(attempt.method)
        guard let proof = admission(despite: named, of: attempt) else {
            return .refused(afterCounting(refusal, of: attempt))
        }
        do throws(KeyRegistryError) {
            if let revocation = try attempt.chosen?.revocation(attempt.request.moment) {
                return .refused(afterCounting(revocation, of: attempt))
            }
        } catch {
            return .refused(afterCounting(unavailable(error), of: attempt))
        }
        return checking(Principal(.anonymous, proof: proof).showing(secret), for: attempt)
    }

    private func principal(
        _ verification: Verification, by method: any AdmissionMethod, at moment: Moment
    ) throws(KeyRegistryError) -> Result<Principal, Refused> {
        switch verification {
        case .verified(let identity, let proof):
            guard method.identityNames.contains(identity.method), identity.subject?.isEmpty == false else { break }
            return .success(Principal(identity, proof: proof))
        case .anonymous: return .success(.anonymous)
        case .given(let principal):
            if let refusal = try proof.refusal(of: principal, at: moment) {
                return .failure(Refused(refusal.failing(.holder)))
            }
            return .success(principal)
        case .refused(let refusal): return .failure(Refused(refusal))
        case .later, .held: break
        }
        return .failure(Refused(Refusal(.appAuthRequired, detail: "\(method.name.label) returned no identity")))
    }

    private struct Refused: Error {
        let refusal: Refusal

        init(_ refusal: Refusal) { self.refusal = refusal }
    }

    private static func undecided(_ request: AdmissionRequest) -> Refusal {
        request.session == nil
            ? Refusal(.appAuthRequired, detail: "no credentials")
            : Refusal(.invalidResume, detail: "only a session's token, which can't admit this client by itself")
    }

    private func unavailable(_ error: KeyRegistryError) -> Refusal {
        Refusal(.storeUnavailable, detail: "\(error)", retryAfter: max(1, settings.storeRetryAfter()))
    }

    /// The checks for every verified identity, independent of the method. For tickets, this is the first check of the block list and the
    /// route; for other methods it is the second, so that no method can forget it.
    private func checking(_ principal: Principal, for attempt: AdmissionAttempt) -> CredentialDecision {
        func refuse(_ refusal: Refusal) -> CredentialDecision { .refused(refusal.naming(attempt.method)) }
        if let refusal = block.refusal(of: principal.identity) { return refuse(refusal.failing(.identityBlocked)) }
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

    /// Counts a failed upgrade against its address. Above the limit, the client gets the rate-limit refusal instead of the actual reason.
    func afterCounting(_ refusal: Refusal, of attempt: AdmissionAttempt) -> Refusal {
        let request = attempt.request
        if refusal.code.countsAsFailedUpgrade, case .over(let seconds) = settings.limits.countFailure(request) {
            let detail = "over FAILED_UPGRADES_PER_MINUTE; \(refusal.code.rawValue): \(refusal.detail)"
            return Refusal(.rateLimited, detail: detail, retryAfter: seconds, failed: refusal.failed)
                .naming(attempt.method)
        }
        var refusal = refusal.naming(attempt.method)
        guard refusal.carriesChallenge else { return refusal }
        refusal.freshChallenge = settings.methods.lazy.compactMap { $0.freshChallenge(at: request.moment) }.first
        return refusal
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
