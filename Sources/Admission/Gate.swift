import KeyStore

/// Decides every upgrade, on whichever reactor it arrives. Nothing past it sees a client that it hasn't admitted.
///
/// It asks its policies in their order and takes the first opinion; undecided means refused. The order is part of the contract: what
/// costs the client something (the challenge, then the counter) comes after everything that may refuse for nothing.
package struct Gate: Sendable {
    private static let storeRetryAfter = 1

    private let policies: [any AdmissionPolicy]
    private let settings: GateSettings

    package init(_ settings: GateSettings) {
        self.settings = settings
        var policies: [any AdmissionPolicy] = [
            HandshakePolicy(subprotocols: settings.subprotocols),
            DrainingPolicy(drain: settings.drain),
            OriginPolicy(allowed: Set(settings.allowedOrigins)),
            CapacityPolicy(slots: settings.slots),
            RatePolicy(limits: settings.limits, checksCertificates: settings.checksCertificates),
        ]
        if let appAttest = settings.appAttest {
            policies.append(AppAttestPolicy(settings: appAttest))
        } else {
            policies.append(NoAppAttestPolicy())
        }
        if settings.checksCertificates { policies.append(ClientCertificatePolicy()) }
        if !settings.requiresAppAuth { policies.append(AnonymousPolicy()) }
        self.policies = policies
    }

    package func evaluate(_ request: AdmissionRequest) -> AdmissionDecision {
        switch firstOpinion(on: request) {
        case .admitted(let principal): seat(principal, for: request)
        case .refused(let refusal): .refused(afterCounting(refusal, of: request))
        case .noOpinion:
            .refused(afterCounting(Refusal(.appAuthRequired, detail: "no credentials"), of: request))
        }
    }

    private func firstOpinion(on request: AdmissionRequest) -> PolicyOutcome {
        do throws(KeyRegistryError) {
            for policy in policies {
                switch try policy.evaluate(request) {
                case .noOpinion: continue
                case let opinion: return opinion
                }
            }
            return .noOpinion
        } catch {
            return .refused(.storeUnavailable, "\(error)", retryAfter: Self.storeRetryAfter)
        }
    }

    /// Another request may have taken the last place since ``CapacityPolicy`` looked.
    private func seat(_ principal: Principal, for request: AdmissionRequest) -> AdmissionDecision {
        guard let slot = settings.slots.claim() else {
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
