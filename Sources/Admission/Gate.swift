import KeyStore

/// Decides every upgrade, on the reactor where it arrives. Nothing behind it sees a client that it hasn't admitted.
///
/// One admission method is chosen by what the request shows: the first of the list that finds its credential. The policies, which know no method,
/// may refuse; then that method verifies, and no other one is tried. What isn't decided is refused. The order is part of the contract:
/// handshake, draining, block, origin, capacity, rate, shared secret, route, then the method's own steps (of App Attest: challenge, key,
/// signature, counter).
///
/// - What costs the client something (a ticket, the challenge, then the counter) comes after everything that may refuse for nothing.
/// - Of those, what is cheap and needs no proof comes first: a blocked client learns nothing else about the gateway.
/// - Guesses at the shared secret are counted and limited like all others: it comes after the rate, and before whatever costs more.
///
/// A gate is a value. Another one over the same objects (tables, challenges, tickets, registry) continues where this one stopped: that is how
/// settings are changed while the gateway runs.
package struct Gate: Sendable {
    private static let storeRetryAfter = 1

    /// Header fields and query parameters that requests are to be read for.
    package let fields: CredentialFieldNames
    private let upgradePolicies: [any AdmissionPolicy]
    private let credentialPolicies: [any AdmissionPolicy]
    private let settings: GateSettings
    private let block: BlockPolicy
    private let proof: ProofCheck
    private let tickets: TicketOffice?

    package init(_ settings: GateSettings) {
        self.settings = settings
        let names = settings.methods.map(\.fields)
        fields = CredentialFieldNames(headers: names.flatMap(\.headers), parameters: names.flatMap(\.parameters))
        block = BlockPolicy(list: settings.blockList)
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
            [HandshakePolicy(subprotocols: settings.subprotocols)] + state
            + [CapacityPolicy(slots: settings.slots, mayComeBack: settings.mayComeBack)] + credentials
    }

    /// This gate with other settings, and with all that it remembers.
    package func changed(_ change: (inout GateSettings) -> Void) -> Gate {
        var settings = settings
        change(&settings)
        return Gate(settings)
    }

    /// Whether an address may request nothing at all; for endpoints that no policy protects.
    package func refuseBlocked(_ address: ClientAddress) -> Refusal? { block.refusal(of: address) }

    package func evaluate(_ request: AdmissionRequest) -> AdmissionDecision {
        switch decide(on: request, by: upgradePolicies) {
        case .authenticated(let principal): seat(principal, for: request)
        case .refused(let refusal): .refused(refusal)
        case .later(let later): .later(later.map { seat($0, for: request) })
        }
    }

    /// Who the client is, by the same rules and at the same price as for an upgrade, where no session begins: neither a handshake nor a free
    /// lease is needed.
    package func authenticate(_ request: AdmissionRequest) -> CredentialDecision {
        decide(on: request, by: credentialPolicies)
    }

    // MARK: Clients that were admitted before

    /// Whether a client that was admitted earlier would be admitted now, by what it showed then. Asked before anything new follows from that
    /// admission; a session that exists goes on whatever the answer is.
    ///
    /// - Returns: `nil` where the proof still holds. What can't be decided is refused.
    package func recheck(_ principal: Principal, from address: ClientAddress, at moment: Moment) -> Refusal? {
        if let refusal = block.refusal(of: address) ?? block.refusal(of: principal.identity) { return refusal }
        do throws(KeyRegistryError) {
            return try proof.refusal(of: principal, at: moment)
        } catch {
            return Self.refusal(error)
        }
    }

    /// A ticket for one upgrade, which will be this principal's; none where ``recheck(_:from:at:)`` refuses it.
    package func issueTicket(to principal: Principal, from address: ClientAddress, at moment: Moment) -> TicketIssue {
        if let refusal = recheck(principal, from: address, at: moment) { return .refused(refusal) }
        guard let tickets else {
            return .refused(Refusal(.invalidTicket, detail: "tickets are not configured"))
        }
        return tickets.issue(to: principal, at: moment.monotonic)
    }

    /// Takes back a ticket that nobody was given.
    package func withdraw(_ issued: IssuedTicket) { tickets?.withdraw(issued) }

    // MARK: One decision

    private func decide(on request: AdmissionRequest, by policies: [any AdmissionPolicy]) -> CredentialDecision {
        let attempt = AdmissionAttempt(request, by: settings.methods)
        var secret: SharedSecret?
        for policy in policies {
            switch policy.evaluate(attempt) {
            case .passed: continue
            case .showed(let shown): secret = shown
            case .refused(let refusal): return .refused(afterCounting(refusal, of: attempt))
            }
        }
        guard let chosen = attempt.chosen else { return .refused(afterCounting(Self.undecided(request), of: attempt)) }
        let outcome: Result<Verification, KeyRegistryError>
        do throws(KeyRegistryError) {
            outcome = .success(try chosen.verify(request))
        } catch {
            outcome = .failure(error)
        }
        guard case .success(.later(let start)) = outcome else {
            return conclude(outcome, of: attempt, by: chosen.method, secret)
        }
        return .later(
            LaterDecision { [secret] body in
                start { body(conclude($0, of: attempt, by: chosen.method, secret)) }
            })
    }

    private func conclude(
        _ outcome: Result<Verification, KeyRegistryError>, of attempt: AdmissionAttempt,
        by method: any AdmissionMethod, _ secret: SharedSecret?
    ) -> CredentialDecision {
        do throws(KeyRegistryError) {
            switch try principal(outcome.get(), by: method, at: attempt.request.moment) {
            case .success(let principal): return checking(principal.showing(secret), for: attempt)
            case .failure(let refused): return .refused(afterCounting(refused.refusal, of: attempt))
            }
        } catch {
            return .refused(afterCounting(Self.refusal(error), of: attempt))
        }
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
            if let refusal = try proof.refusal(of: principal, at: moment) { return .failure(Refused(refusal)) }
            return .success(principal)
        case .refused(let refusal): return .failure(Refused(refusal))
        case .later: break
        }
        return .failure(Refused(Refusal(.appAuthRequired, detail: "\(method.name.label) didn't say who the client is")))
    }

    private struct Refused: Error {
        let refusal: Refusal

        init(_ refusal: Refusal) { self.refusal = refusal }
    }

    private static func undecided(_ request: AdmissionRequest) -> Refusal {
        request.session == nil
            ? Refusal(.appAuthRequired, detail: "no credentials")
            : Refusal(.invalidResume, detail: "no credentials but a session's token, which doesn't admit by itself")
    }

    private static func refusal(_ error: KeyRegistryError) -> Refusal {
        Refusal(.storeUnavailable, detail: "\(error)", retryAfter: storeRetryAfter)
    }

    /// What holds for every identity, whichever method has verified it. For tickets block list and route are looked at here first; for others once
    /// more, so that no method can forget them.
    private func checking(_ principal: Principal, for attempt: AdmissionAttempt) -> CredentialDecision {
        func refuse(_ refusal: Refusal) -> CredentialDecision { .refused(refusal.naming(attempt.method)) }
        if let refusal = block.refusal(of: principal.identity) { return refuse(refusal) }
        guard !proof.lacksSecret(principal) else {
            return refuse(Refusal(.sharedSecretRequired, detail: "no shared secret was looked at"))
        }
        if let refusal = RoutePolicy.refusal(of: principal.identity.method, attempt.request) { return refuse(refusal) }
        return .authenticated(principal)
    }

    private func seat(_ decision: CredentialDecision, for request: AdmissionRequest) -> AdmissionDecision {
        switch decision {
        case .authenticated(let principal): seat(principal, for: request)
        case .refused(let refusal): .refused(refusal)
        case .later(let later): .later(later.map { seat($0, for: request) })
        }
    }

    /// Another request may have taken the last lease since ``CapacityPolicy`` looked.
    private func seat(_ principal: Principal, for request: AdmissionRequest) -> AdmissionDecision {
        let isReturning =
            settings.slots.isFull
            && (principal.isByToken || settings.mayComeBack(principal.identity, request.address))
        guard let slot = settings.slots.claim(forReturning: isReturning) else {
            let refusal = Refusal(
                .atCapacity, detail: "lost the last session to another", retryAfter: CapacityPolicy.retryAfter)
            return .refused(refusal.naming(principal.shown))
        }
        let subprotocol = settings.subprotocols.choose(from: request.handshake.offeredSubprotocols)
        return .admitted(Admitted(principal: principal, subprotocol: subprotocol, slot: slot))
    }

    /// A failed upgrade counts against its address, and one too many is told so instead of what was wrong.
    private func afterCounting(_ refusal: Refusal, of attempt: AdmissionAttempt) -> Refusal {
        let request = attempt.request
        if refusal.code.countsAsFailedUpgrade, case .over(let seconds) = settings.limits.countFailure(request) {
            let detail = "over FAILED_UPGRADES_PER_MINUTE; \(refusal.code.rawValue): \(refusal.detail)"
            return Refusal(.rateLimited, detail: detail, retryAfter: seconds).naming(attempt.method)
        }
        var refusal = refusal.naming(attempt.method)
        guard refusal.carriesChallenge else { return refusal }
        refusal.freshChallenge = settings.methods.lazy.compactMap { $0.freshChallenge(at: request.moment) }.first
        return refusal
    }
}

extension Refusal {
    fileprivate func naming(_ method: MethodName) -> Refusal {
        var refusal = self
        refusal.method = method
        return refusal
    }
}
