import KeyStore

/// Decides every upgrade, on whichever reactor it arrives. Nothing past it sees a client that it hasn't admitted.
///
/// It asks its policies in their order and takes the first opinion; undecided means refused. The order is part of the contract:
/// handshake, draining, block, origin, capacity, rate, shared secret, way, ticket, session token, challenge, key, signature, counter.
///
/// - What costs the client something (a ticket, the challenge, then the counter) comes after everything that may refuse for nothing.
/// - Of those, what is cheap and needs no proof comes first: whoever is blocked learns nothing else about the gateway.
/// - Guesses at the shared secret are counted and limited like all others: it comes after the rate, and before whatever costs more.
///
/// A gate is a value. Another one over the same objects (tables, challenges, tickets, registry) goes on where this one stopped: that is how
/// settings are changed while the gateway runs.
package struct Gate: Sendable {
    private static let storeRetryAfter = 1

    private let upgradePolicies: [any AdmissionPolicy]
    private let credentialPolicies: [any AdmissionPolicy]
    private let settings: GateSettings
    private let block: BlockPolicy
    private let proof: ProofCheck

    package init(_ settings: GateSettings) {
        self.settings = settings
        block = BlockPolicy(list: settings.blockList)
        proof = ProofCheck(settings)
        let state: [any AdmissionPolicy] = [
            DrainingPolicy(drain: settings.drain), block,
            OriginPolicy(allowed: Set(settings.allowedOrigins), allowsMissing: settings.allowsMissingOrigin),
        ]
        let credentials = Self.credentialPolicies(settings)
        credentialPolicies = state + credentials
        upgradePolicies =
            [HandshakePolicy(subprotocols: settings.subprotocols)] + state + [
                CapacityPolicy(
                    slots: settings.slots, mayComeBack: settings.mayComeBack, bearer: settings.sessionBearer)
            ]
            + credentials
    }

    private static func credentialPolicies(_ settings: GateSettings) -> [any AdmissionPolicy] {
        var policies: [any AdmissionPolicy] = [
            RatePolicy(
                limits: settings.limits, checksCertificates: settings.checksCertificates,
                checksSecrets: settings.sharedSecrets != nil)
        ]
        if let secrets = settings.sharedSecrets { policies.append(SharedSecretPolicy(secrets: secrets)) }
        policies.append(WayPolicy(checksCertificates: settings.checksCertificates))
        if let tickets = settings.tickets {
            policies.append(TicketPolicy(office: tickets, proof: ProofCheck(settings)))
        } else {
            policies.append(NoTicketPolicy())
        }
        policies.append(ResumePolicy(bearer: settings.sessionBearer, proof: ProofCheck(settings)))
        if let appAttest = settings.appAttest {
            policies.append(AppAttestPolicy(settings: appAttest))
        } else {
            policies.append(NoAppAttestPolicy())
        }
        if settings.checksCertificates { policies.append(ClientCertificatePolicy()) }
        if !settings.requiresAppAuth { policies.append(AnonymousPolicy()) }
        return policies
    }

    /// This gate with other settings, and with all that it remembers.
    package func changed(_ change: (inout GateSettings) -> Void) -> Gate {
        var settings = settings
        change(&settings)
        return Gate(settings)
    }

    /// Whether an address may ask for nothing at all; for endpoints that no policy stands before.
    package func refuseBlocked(_ address: ClientAddress) -> Refusal? { block.refusal(of: address) }

    package func evaluate(_ request: AdmissionRequest) -> AdmissionDecision {
        switch firstOpinion(of: upgradePolicies, on: request) {
        case .authenticated(let principal): seat(principal, for: request)
        case .refused(let refusal): .refused(refusal)
        }
    }

    /// Who asks, by the same rules and at the same price as for an upgrade, where no session begins: neither a handshake nor a free place
    /// is needed.
    package func authenticate(_ request: AdmissionRequest) -> CredentialDecision {
        firstOpinion(of: credentialPolicies, on: request)
    }

    // MARK: Who is in already

    /// Whether somebody who was admitted earlier would be so now, by what he showed then. Asked before anything new follows from that
    /// admission; a session that is there goes on whatever the answer is.
    ///
    /// - Returns: `nil` where the proof still holds. What can't be decided is refused.
    package func recheck(_ principal: Principal, from address: ClientAddress, at moment: Moment) -> Refusal? {
        if let refusal = block.refusal(of: address) ?? block.refusal(of: principal) { return refusal }
        do throws(KeyRegistryError) {
            return try proof.refusal(of: principal, at: moment)
        } catch {
            return Self.refusal(error)
        }
    }

    /// A ticket for one upgrade, which will be this principal's; for nobody whom ``recheck(_:from:at:)`` refuses.
    package func issueTicket(to principal: Principal, from address: ClientAddress, at moment: Moment) -> TicketIssue {
        if let refusal = recheck(principal, from: address, at: moment) { return .refused(refusal) }
        guard let tickets = settings.tickets else {
            return .refused(Refusal(.invalidTicket, detail: "tickets are not configured"))
        }
        return tickets.issue(to: principal, at: moment.monotonic)
    }

    /// Takes back a ticket that nobody was given.
    package func withdraw(_ issued: IssuedTicket) { settings.tickets?.withdraw(issued) }

    private func firstOpinion(of policies: [any AdmissionPolicy], on request: AdmissionRequest)
        -> CredentialDecision
    {
        var secret: SharedSecret?
        do throws(KeyRegistryError) {
            for policy in policies {
                switch try policy.evaluate(request) {
                case .noOpinion: continue
                case .showed(let shown): secret = shown
                case .admitted(let principal): return checking(principal.showing(secret), for: request)
                case .refused(let refusal): return .refused(afterCounting(refusal, of: request))
                }
            }
            return .refused(afterCounting(Self.undecided(request), of: request))
        } catch {
            return .refused(afterCounting(Self.refusal(error), of: request))
        }
    }

    private static func undecided(_ request: AdmissionRequest) -> Refusal {
        request.session == nil
            ? Refusal(.appAuthRequired, detail: "no credentials")
            : Refusal(.invalidResume, detail: "no credentials but a session's token, which doesn't admit by itself")
    }

    private static func refusal(_ error: KeyRegistryError) -> Refusal {
        Refusal(.storeUnavailable, detail: "\(error)", retryAfter: storeRetryAfter)
    }

    /// Who is blocked shows for tickets only here. Every policy looks at the ways before it admits; should one forget, nobody comes in by
    /// it, nor without a secret where one is demanded.
    private func checking(_ principal: Principal, for request: AdmissionRequest) -> CredentialDecision {
        if let refusal = block.refusal(of: principal) { return .refused(refusal) }
        guard settings.sharedSecrets == nil || principal.secret != nil || principal.admissionWay == .ticket else {
            return .refused(Refusal(.sharedSecretRequired, detail: "no shared secret was looked at"))
        }
        guard let allowed = request.allowedWays, !allowed.contains(principal.admissionWay) else {
            return .authenticated(principal)
        }
        return .refused(Refusal(.wayNotAllowed, detail: "the route is not open to \(principal.wayName)"))
    }

    /// Another request may have taken the last place since ``CapacityPolicy`` looked.
    private func seat(_ principal: Principal, for request: AdmissionRequest) -> AdmissionDecision {
        let isReturning =
            settings.slots.isFull
            && (principal.isByToken || settings.mayComeBack(SessionOwner(principal), request.address))
        guard let slot = settings.slots.claim(forReturning: isReturning) else {
            return .refused(
                Refusal(.atCapacity, detail: "lost the last session to another", retryAfter: CapacityPolicy.retryAfter))
        }
        let subprotocol = settings.subprotocols.choose(from: request.handshake.offeredSubprotocols)
        return .admitted(Admitted(principal: principal, subprotocol: subprotocol, slot: slot))
    }

    /// A failed upgrade counts against its address, and one too many is told so instead of what was wrong.
    private func afterCounting(_ refusal: Refusal, of request: AdmissionRequest) -> Refusal {
        if refusal.code.countsAsFailedUpgrade, case .over(let seconds) = settings.limits.countFailure(request) {
            let detail = "over FAILED_UPGRADES_PER_MINUTE; \(refusal.code.rawValue): \(refusal.detail)"
            return Refusal(.rateLimited, detail: detail, retryAfter: seconds)
        }
        guard refusal.carriesChallenge, let challenges = settings.appAttest?.challenges else { return refusal }
        var refusal = refusal
        refusal.freshChallenge = challenges.issue(at: request.moment).nonce
        return refusal
    }
}
