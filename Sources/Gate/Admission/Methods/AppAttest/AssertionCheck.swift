import AppAttest
import KeyStore

/// Decides on one assertion, whichever dialect it came in: its key, then the signature, then the counter. Who uses it
/// has the challenge, and the order in which that is spent.
struct AssertionCheck: Sendable {
    let settings: AppAttestSettings
    let id: KeyID

    /// A key that may sign.
    struct SigningKey: Sendable {
        fileprivate let publicKeyX963: [UInt8]
        /// That it was attested for.
        let app: AppID
        /// Signatures have to have a higher one.
        fileprivate let counter: UInt32
        /// That its device has joined.
        fileprivate let account: AccountID?
    }

    /// An assertion whose signature is right. It counts when its counter has been used.
    struct Signed: Sendable {
        let assertion: VerifiedAssertion
        let app: AppID
        let account: AccountID?
    }

    var question: StoreQuestion { .standing(id, for: .assertion) }

    // MARK: Key

    /// - Parameter finishing: it signs nothing but its own end, which may have begun.
    func accept(
        _ standing: KeyStanding?, above counter: UInt32, finishing: Bool = false
    ) throws(AssertionFault) -> SigningKey {
        guard let key = standing else { throw .unregistered(id) }
        guard !key.isRevoked || key.isBeingErased else { throw .revoked }
        guard !key.isBeingErased || finishing else { throw .erasing(id) }
        guard let app = settings.scope.app(of: key) else { throw .outOfScope(settings.scope.mismatch(of: key)) }
        return SigningKey(publicKeyX963: key.publicKeyX963, app: app, counter: counter, account: key.account)
    }

    // MARK: Signature

    /// Only for the app that the key was attested for.
    func verify(
        _ assertion: [UInt8], over clientDataHash: [UInt8], by key: SigningKey
    ) throws(AssertionFault) -> Signed {
        do throws(AssertionError) {
            let verified = try settings.assertionVerifier.verify(
                assertion: assertion, clientDataHash: clientDataHash, publicKeyX963: key.publicKeyX963, app: key.app,
                previousCounter: key.counter)
            return Signed(assertion: verified, app: key.app, account: key.account)
        } catch {
            let (verifier, app, others) = (settings.assertionVerifier, key.app, settings.scope.sortedApps)
            throw .rejected(
                error,
                FailedCheck(error.check, verifier.discrepancy(error, in: assertion, app: app, others: others)))
        }
    }

    /// At a registration, by the key of the attestation that comes with it.
    func verify(
        _ assertion: [UInt8], over clientDataHash: [UInt8], by attestation: VerifiedAttestation
    ) throws(AssertionFault) -> Signed {
        try verify(
            assertion, over: clientDataHash,
            by: SigningKey(publicKeyX963: attestation.publicKeyX963, app: attestation.app, counter: 0, account: nil))
    }

    // MARK: Counter

    /// The store compares again when it writes, so only one of two requests with the same counter succeeds.
    ///
    /// - Parameters:
    ///   - admitsLower: whether a lower counter in the window is good, too.
    ///   - maximumRise: how far above the highest one it may be.
    func use(
        _ signed: Signed, of challenge: SpentChallenge, admitsLower: Bool = false, maximumRise: UInt32 = .max
    ) -> StoreQuestion {
        let use = counterUse(of: signed, admitsLower: admitsLower, maximumRise: maximumRise)
        return .admit(AssertionClaim(key: id, use: use, challenge: challenge.fleetUse))
    }

    func counterUse(of signed: Signed, admitsLower: Bool, maximumRise: UInt32) -> CounterUse {
        CounterUse(signed.assertion.counter, in: settings.window, admitsLower: admitsLower, maximumRise: maximumRise)
    }

    func conclude(_ spending: AssertionSpending, _ signed: Signed) throws(AssertionFault) {
        switch spending {
        case .admitted, .notAdvanced(.advanced): return
        case .refused(let mark): throw .challenge(mark.refused() ?? .alreadySpent)
        case .notAdvanced(.notHigher(let stored)): throw .counterUsed(signed.assertion.counter, stored: stored)
        case .notAdvanced(.tooHigh(let stored)): throw .counterTooHigh(signed.assertion.counter, stored: stored, of: id)
        case .notAdvanced(.unknownKey): throw .forgotten
        case .notAdvanced(.revoked): throw .revokedMeanwhile
        }
    }
}

/// Why an assertion admits nobody.
enum AssertionFault: Error {
    case unregistered(KeyID)
    case revoked
    /// Its erasure has begun, and ends soon: by then nobody knows the key.
    case erasing(KeyID)
    case outOfScope(FailedCheck)
    case rejected(AssertionError, FailedCheck)
    /// The store has refused the challenge. Never `.spent`.
    case challenge(ChallengeSpending)
    case counterUsed(UInt32, stored: UInt32)
    case counterTooHigh(UInt32, stored: UInt32, of: KeyID)
    case forgotten
    case revokedMeanwhile

    /// For the log.
    private var detail: String {
        switch self {
        case .unregistered: "key is not registered"
        case .revoked: "key is revoked"
        case .erasing: "key is being erased"
        case .outOfScope: "key's app, environment or trust root is not configured"
        case .rejected(let error, _): "assertion: \(error)"
        case .challenge(let spending): spending.detail
        case .counterUsed: "counter was used by another request meanwhile"
        case .counterTooHigh: "counter is far above the last one: another device may have the key"
        case .forgotten: "key was forgotten meanwhile"
        case .revokedMeanwhile: "key was revoked meanwhile"
        }
    }

    private var failed: FailedCheck {
        switch self {
        case .unregistered(let id), .erasing(let id): .unregistered(id)
        case .revoked: FailedCheck(.keyRevoked)
        case .outOfScope(let failed), .rejected(_, let failed): failed
        case .challenge(let spending): spending.failed
        case .counterUsed(let counter, let stored): .counterStored(counter, stored: stored)
        case .counterTooHigh(let counter, let stored, _):
            FailedCheck(.counterRise, expected: "a counter not far above \(stored)", received: "\(counter)")
        case .forgotten, .revokedMeanwhile: FailedCheck(.counterStored)
        }
    }

    /// For an upgrade.
    var refusal: Refusal {
        switch self {
        case .unregistered, .erasing, .outOfScope, .forgotten: Refusal(.unknownKey, detail: detail, failed: failed)
        case .revoked, .revokedMeanwhile: Refusal(.keyRevoked, detail: detail, failed: failed)
        case .rejected, .counterUsed, .counterTooHigh: Refusal(.assertionRejected, detail: detail, failed: failed)
        case .challenge(let spending): spending.refusal
        }
    }

    /// For a client of the token dialect.
    var tokenRefusal: Refusal {
        switch self {
        case .unregistered, .erasing, .outOfScope, .forgotten:
            .token(.registrationRequired, detail: detail, failed: failed)
        case .revoked, .revokedMeanwhile: .token(.deviceBlocked, detail: detail, failed: failed)
        case .rejected(let error, _):
            .token(.attestationFailed, detail: detail, reason: error.clientDescription, failed: failed)
        case .challenge(let spending): spending.tokenRefusal
        case .counterUsed, .counterTooHigh:
            .token(
                .attestationFailed, detail: detail,
                reason: "the assertion's counter was used by another request meanwhile", failed: failed)
        }
    }
}

extension ChallengeSpending {
    /// For an upgrade; not of `.spent`.
    var refusal: Refusal {
        if case .full(let seconds) = self {
            return Refusal(
                .challengesExhausted, detail: "spent challenges are at their maximum", retryAfter: seconds)
        }
        return Refusal(.invalidNonce, detail: detail, failed: failed)
    }
}
