package import WireText

/// Sign-ins count like upgrades: whoever guesses at one guesses at the other.
extension Gate {
    /// Whether a request presents a credential of a method that verifies one.
    package func isShownCredential(in request: AdmissionRequest) -> Bool {
        settings.sharedSecrets != nil || (AdmissionAttempt(request, by: methods).chosen?.traits.cost ?? 0) > 0
    }

    /// Called before any signature of a sign-in is verified: an address with too many failures pays for each
    /// verification.
    package func refuseSignIn(from address: IPAddress, at time: MonotonicTime) -> Refusal? {
        guard case .over = settings.limits.failuresSoFar(address.prefix, at: time) else { return nil }
        switch settings.limits.payForVerification(address.prefix, at: time) {
        case .within: return nil
        case .over(let seconds):
            return Refusal(
                .rateLimited, detail: "over the limit of verifications per second", retryAfter: seconds)
        }
    }

    /// Counts a failed sign-in against its address. Above the limit the client gets the refusal for that; the audit log
    /// has the check that failed, and whose sign-in it was.
    package func afterCountingSignIn(_ refusal: Refusal, from address: IPAddress, at time: MonotonicTime) -> Refusal {
        guard refusal.code.countsAsFailedUpgrade,
            case .over(let seconds) = settings.limits.countFailure(address.prefix, at: time)
        else { return refusal }
        let detail = "over FAILED_UPGRADES_PER_MINUTE; \(refusal.code.rawValue): \(refusal.detail)"
        return Refusal(.rateLimited, detail: detail, retryAfter: seconds, failed: refusal.failed)
            .naming(refusal.signer)
    }
}
