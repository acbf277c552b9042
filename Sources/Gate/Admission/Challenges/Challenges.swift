import FoundationEssentials
import KeyStore
import Synchronization

/// Issues challenges and lets each be used once. Shared by all reactors.
///
/// The MAC key and the set of used challenges belong to this process and end with it, unless it hands both to the
/// process that replaces it: a challenge that was used is never valid in a later process.
///
/// In a fleet the key is derived from what all gateways share (``FleetIdentity``), and each accepts the challenges of
/// all. Then the set of this process only prevents it from trying two assertions with one challenge; the store decides:
/// see ``SpentChallenge/fleetUse``.
package final class Challenges: Sendable {
    package static let defaultTimeToLive: Duration = .seconds(60)
    /// `MAX_SPENT_PROOFS`.
    package static let defaultMaximumSpent = 100_000
    /// The upper limit of a challenge's lifetime, whatever is configured.
    package static let longestTimeToLive: Duration = .seconds(3600)
    /// Milliseconds. The times of two reactors can differ by the duration of one turn; a reactor must accept what
    /// another one just issued.
    static let clockTolerance: UInt64 = 1_000

    /// A challenge of one dialect is foreign in the other.
    fileprivate struct Origin {
        var key = OwnChallengeKey()
        var tokenKey = OwnChallengeKey()
        var signedKey = OwnChallengeKey()
        var epoch: MonotonicTime
    }

    /// Changes once at most, before the first challenge: when the state of an earlier process is taken over.
    private let origin: Mutex<Origin>
    private let issuer: ChallengeIssuer
    /// Milliseconds.
    private let timeToLive: UInt64
    private let spent: Mutex<SpentSet>
    /// The spent challenges of the token dialect, by purpose.
    private let spentForRegistrations: Mutex<SpentSet>
    private let spentForTokens: Mutex<SpentSet>
    /// The same of requests that are signed one by one: once in all, because what a client signs doesn't name the
    /// endpoint.
    private let spentForSigned: Mutex<SpentSet>
    private let total = Atomic<Int>(0)

    /// - Parameters:
    ///   - epoch: any time before the first challenge, such as the start of the process.
    ///   - fleet: that this gateway belongs to; `nil`: it is alone. All gateways of a fleet have the same time to live.
    package init(
        epoch: MonotonicTime, timeToLive: Duration = defaultTimeToLive, maximumSpent: Int = defaultMaximumSpent,
        fleet: FleetIdentity? = nil
    ) {
        issuer = ChallengeIssuer(fleet)
        origin = Mutex(Origin(epoch: epoch))
        self.timeToLive = min(timeToLive, Self.longestTimeToLive).wholeMilliseconds
        let empty = SpentSet(maximum: maximumSpent, timeToLive: self.timeToLive, tolerance: issuer.tolerance)
        spent = Mutex(empty)
        spentForRegistrations = Mutex(empty)
        spentForTokens = Mutex(empty)
        spentForSigned = Mutex(empty)
    }

    /// Stores nothing.
    package func issue(at moment: Moment) -> IssuedChallenge {
        IssuedChallenge(nonce: challenge(of: .guide, at: moment).hex, expires: expiry(of: moment))
    }

    /// For the token dialect. Stores nothing.
    package func issueForToken(at moment: Moment) -> IssuedChallenge {
        IssuedChallenge(nonce: challenge(of: .token, at: moment).base64URL, expires: expiry(of: moment))
    }

    /// For requests that are signed one by one. Stores nothing.
    package func issueForSigned(at moment: Moment) -> IssuedChallenge {
        IssuedChallenge(nonce: challenge(of: .signed, at: moment).base64, expires: expiry(of: moment))
    }

    fileprivate enum Dialect { case guide, token, signed }

    private func challenge(of dialect: Dialect, at moment: Moment) -> Challenge {
        view(of: dialect, at: moment.monotonic).challenge()
    }

    private func view(of dialect: Dialect, at time: MonotonicTime) -> ChallengeView {
        let purpose =
            switch dialect {
            case .guide: "challenge"
            case .token: "token challenge"
            case .signed: "signed challenge"
            }
        return issuer.view(for: purpose, lifetime: timeToLive, at: time) {
            origin.withLock { ($0.key(of: dialect).key, $0.epoch) }
        }
    }

    private func expiry(of moment: Moment) -> Int64 {
        let (expires, overflow) = moment.unixMilliseconds.addingReportingOverflow(Int64(timeToLive))
        return overflow ? .max : expires
    }

    /// Atomic: exactly one of several callers with the same challenge gets `.spent`.
    ///
    /// - Parameter hex: as the client sent it; 64 hexadecimal digits of either case.
    package func spend(_ hex: String, at time: MonotonicTime) -> ChallengeSpending {
        spend(Challenge(hex: hex), of: .guide, as: .challenge, in: spent, at: time)
    }

    /// The same for the token dialect, once for each purpose.
    ///
    /// - Parameter base64URL: as the client sent it; 43 characters.
    package func spend(
        _ base64URL: String, for purpose: TokenChallengePurpose, at time: MonotonicTime
    ) -> ChallengeSpending {
        let challenge = Challenge(base64URL: base64URL)
        return switch purpose {
        case .registration:
            spend(challenge, of: .token, as: .registrationChallenge, in: spentForRegistrations, at: time)
        case .token: spend(challenge, of: .token, as: .tokenChallenge, in: spentForTokens, at: time)
        }
    }

    /// The same for requests that are signed one by one.
    ///
    /// - Parameter base64: as the client sent it; 44 characters.
    package func spendSigned(_ base64: String, at time: MonotonicTime) -> ChallengeSpending {
        spend(Challenge(base64: base64), of: .signed, as: .signedChallenge, in: spentForSigned, at: time)
    }

    private func spend(
        _ challenge: Challenge?, of dialect: Dialect, as kind: SingleUseMark.Kind,
        in spent: borrowing Mutex<SpentSet>, at time: MonotonicTime
    ) -> ChallengeSpending {
        guard let challenge else { return .malformed }
        let view = view(of: dialect, at: time)
        guard view.accepts(challenge) else { return .foreign }
        if let refusal = spent.withLock({ view.spend(challenge, in: &$0) }) { return refusal }
        total.wrappingAdd(1, ordering: .relaxed)
        return .spent(SpentChallenge(challenge, in: view.fleetUse(of: challenge, as: kind)))
    }

    /// Whether a challenge of the token dialect could be spent now. It stays as it is, so that what is signed over it
    /// can be verified first.
    ///
    /// - Parameter base64URL: as the client sent it; 43 characters.
    package func examine(
        _ base64URL: String, for purpose: TokenChallengePurpose, at time: MonotonicTime
    ) -> ChallengeExamination {
        guard let challenge = Challenge(base64URL: base64URL) else { return .refused(.malformed) }
        return switch purpose {
        case .registration: examine(challenge, of: .token, in: spentForRegistrations, at: time)
        case .token: examine(challenge, of: .token, in: spentForTokens, at: time)
        }
    }

    /// Whether a challenge of requests that are signed one by one could be spent now; nil: it could. It stays as it is:
    /// nobody who hasn't the key spends it.
    package func refusalOfSigned(_ base64: String, at time: MonotonicTime) -> ChallengeSpending? {
        guard let challenge = Challenge(base64: base64) else { return .malformed }
        guard case .refused(let spending) = examine(challenge, of: .signed, in: spentForSigned, at: time) else {
            return nil
        }
        return spending
    }

    private func examine(
        _ challenge: Challenge, of dialect: Dialect, in spent: borrowing Mutex<SpentSet>, at time: MonotonicTime
    ) -> ChallengeExamination {
        let view = view(of: dialect, at: time)
        guard view.accepts(challenge) else { return .refused(.foreign) }
        guard let refusal = spent.withLock({ view.refusal(of: challenge, in: &$0) }) else {
            return .open(OpenChallenge(challenge))
        }
        return .refused(refusal)
    }

    /// Challenges that were spent since the start; for metrics.
    package var spentTotal: Int { total.load(ordering: .relaxed) }

    // MARK: To another process

    package var carried: CarriedChallenges {
        let origin = origin.withLock { $0 }
        return CarriedChallenges(
            key: origin.key.secret, tokenKey: origin.tokenKey.secret, signedKey: origin.signedKey.secret,
            epoch: origin.epoch, timeToLive: timeToLive,
            spent: spent.withLock { $0.carried },
            spentForRegistrations: spentForRegistrations.withLock { $0.carried },
            spentForTokens: spentForTokens.withLock { $0.carried },
            spentForSigned: spentForSigned.withLock { $0.carried })
    }

    /// Before the first challenge is issued or spent.
    package func restore(_ carried: CarriedChallenges) throws {
        let life = carried.timeToLive
        try spent.withLock { try $0.restore(carried.spent, timeToLive: life) }
        try spentForRegistrations.withLock { try $0.restore(carried.spentForRegistrations, timeToLive: life) }
        try spentForTokens.withLock { try $0.restore(carried.spentForTokens, timeToLive: life) }
        if let spent = carried.spentForSigned {
            try spentForSigned.withLock { try $0.restore(spent, timeToLive: life) }
        }
        origin.withLock {
            $0 = Origin(
                key: OwnChallengeKey(carried.key), tokenKey: OwnChallengeKey(carried.tokenKey),
                signedKey: carried.signedKey.map { OwnChallengeKey($0) } ?? OwnChallengeKey(), epoch: carried.epoch)
        }
    }

    /// The number of spent challenges that are remembered; for metrics.
    package var spentCount: Int {
        spent.withLock { $0.count } + spentForRegistrations.withLock { $0.count } + spentForTokens.withLock { $0.count }
            + spentForSigned.withLock { $0.count }
    }
}

extension Challenges.Origin {
    fileprivate func key(of dialect: Challenges.Dialect) -> OwnChallengeKey {
        switch dialect {
        case .guide: key
        case .token: tokenKey
        case .signed: signedKey
        }
    }
}

/// The purposes of a challenge of the token dialect: it is valid once for each.
package enum TokenChallengePurpose: Sendable {
    case registration, token
}

/// The response of `/attest/challenge`.
package struct IssuedChallenge: Sendable {
    /// 64 lower-case hexadecimal digits, or in the token dialect 43 characters of base64url.
    package let nonce: String
    /// Unix milliseconds; for display only. The gateway's monotonic clock decides.
    package let expires: Int64

    /// RFC 3339, in whole seconds: never later than ``expires``.
    package var expiresAt: String {
        Date(timeIntervalSince1970: (Double(expires) / 1_000).rounded(.down)).formatted(.iso8601)
    }
}
