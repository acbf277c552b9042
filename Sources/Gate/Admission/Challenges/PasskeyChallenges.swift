package import KeyStore
import Synchronization

/// Issues the challenges of passkeys and of devices that join an account, and lets each be used once. Shared by all
/// reactors. As ``Challenges`` it stores nothing of what it issues.
///
/// A challenge has a payload, which its MAC protects, and is bound to what the MAC covers besides: to the key that will
/// prove the possession of a token, or to the client that has proved itself. With another binding it is foreign.
///
/// ```
/// byte  0                               32
///       ┌───────────────────────────────┬─────────┐
///       │ as a challenge of Challenges  │ payload │
///       └───────────────────────────────┴─────────┘
/// ```
package final class PasskeyChallenges: Sendable {
    /// A player may look for a security key, or leave the page open for a while before choosing a passkey.
    package static let timeToLive: Duration = .seconds(300)
    package static let maximumPayloadBytes = 64

    /// What a challenge is for. It is foreign for any other purpose.
    package enum Purpose: UInt8, Sendable, CaseIterable {
        case registration = 1
        case authentication = 2
        /// A device joins an account.
        case device = 3
        /// A device that has joined signs its player in.
        case deviceAuthentication = 4

        var kind: SingleUseMark.Kind {
            switch self {
            case .registration: .passkeyRegistration
            case .authentication: .passkeyAuthentication
            case .device: .accountDevice
            case .deviceAuthentication: .deviceAuthentication
            }
        }
    }

    /// Changes once at most, before the first challenge.
    private struct Origin {
        var key = OwnChallengeKey()
        var epoch: MonotonicTime
    }

    private let origin: Mutex<Origin>
    private let issuer: ChallengeIssuer
    private let life = PasskeyChallenges.timeToLive.wholeMilliseconds
    /// A purpose can't fill the set of another.
    private let spent: [Mutexed<SpentSet>]

    /// - Parameters:
    ///   - epoch: any time before the first challenge, such as the start of the process.
    ///   - fleet: that this gateway belongs to; `nil`: it is alone.
    package init(
        epoch: MonotonicTime, maximumSpent: Int = Challenges.defaultMaximumSpent, fleet: FleetIdentity? = nil
    ) {
        issuer = ChallengeIssuer(fleet)
        origin = Mutex(Origin(epoch: epoch))
        let empty = SpentSet(maximum: maximumSpent, timeToLive: life, tolerance: issuer.tolerance)
        spent = Purpose.allCases.map { _ in Mutexed(empty) }
    }

    // MARK: Issuing

    /// Stores nothing.
    ///
    /// - Parameters:
    ///   - payload: at most ``maximumPayloadBytes``; whoever uses the challenge reads it.
    ///   - binding: must be the same when it is used.
    package func issue(
        for purpose: Purpose, payload: [UInt8] = [], binding: [UInt8], at moment: Moment
    ) -> [UInt8] {
        precondition(payload.count <= Self.maximumPayloadBytes, "A payload is of this program's making.")
        let covered = Self.covered(purpose, payload, binding)
        return view(at: moment.monotonic).challenge(covering: covered).bytes + payload
    }

    private func view(at time: MonotonicTime) -> ChallengeView {
        issuer.view(for: "passkey challenge", lifetime: life, at: time) {
            origin.withLock { ($0.key.key, $0.epoch) }
        }
    }

    /// The length keeps payload and binding apart.
    private static func covered(_ purpose: Purpose, _ payload: [UInt8], _ binding: [UInt8]) -> [UInt8] {
        [purpose.rawValue, UInt8(payload.count)] + payload + binding
    }

    // MARK: Using

    /// Atomic: exactly one of several callers with the same challenge gets `.spent`; in a fleet one at each gateway,
    /// and the store decides by ``SpentPasskeyChallenge/mark``.
    ///
    /// - Parameter bytes: as the client sent them.
    package func spend(
        _ bytes: [UInt8], for purpose: Purpose, binding: [UInt8], at time: MonotonicTime
    ) -> PasskeyChallengeSpending {
        guard let challenge = Challenge(bytes: bytes.prefix(Challenge.byteCount)) else { return .refused(.malformed) }
        let payload = Array(bytes.dropFirst(Challenge.byteCount))
        guard payload.count <= Self.maximumPayloadBytes else { return .refused(.malformed) }
        let covered = Self.covered(purpose, payload, binding)
        let set = spent[Int(purpose.rawValue) - 1]
        let view = view(at: time)
        guard view.accepts(challenge, covering: covered) else { return .refused(.foreign) }
        if let refusal = set.withLock({ view.spend(challenge, in: &$0) }) { return .refused(refusal) }
        let use = view.fleetUse(of: challenge, as: purpose.kind)
        return .spent(SpentPasskeyChallenge(mark: use.map { ($0.mark, $0.incarnation) }))
    }

    /// What ``spend(_:for:binding:at:)`` would refuse now; nil: nothing. Nothing is used up.
    package func refusal(
        of bytes: [UInt8], for purpose: Purpose, binding: [UInt8], at time: MonotonicTime
    ) -> ChallengeSpending? {
        guard let challenge = Challenge(bytes: bytes.prefix(Challenge.byteCount)) else { return .malformed }
        let payload = Array(bytes.dropFirst(Challenge.byteCount))
        guard payload.count <= Self.maximumPayloadBytes else { return .malformed }
        let (covered, set) = (Self.covered(purpose, payload, binding), spent[Int(purpose.rawValue) - 1])
        let view = view(at: time)
        guard view.accepts(challenge, covering: covered) else { return .foreign }
        return set.withLock { view.refusal(of: challenge, in: &$0) }
    }

    /// The payload of a challenge, unverified: ``spend(_:for:binding:at:)`` tells whether this gateway, or its fleet,
    /// has written it.
    package static func payload(of bytes: [UInt8]) -> [UInt8] { Array(bytes.dropFirst(Challenge.byteCount)) }

    /// The number of spent challenges that are remembered.
    package var spentCount: Int { spent.reduce(0) { $0 + $1.withLock { $0.count } } }

    // MARK: To another process

    package var carried: CarriedPasskeyChallenges {
        let origin = origin.withLock { $0 }
        return CarriedPasskeyChallenges(
            key: origin.key.secret, epoch: origin.epoch, timeToLive: life,
            spent: spent.map { $0.withLock { $0.carried } })
    }

    /// Before the first challenge is issued or used.
    package func restore(_ carried: CarriedPasskeyChallenges) throws {
        guard carried.spent.count == spent.count else { throw CarriedStateFault() }
        for (set, carriedSet) in zip(spent, carried.spent) {
            try set.withLock { try $0.restore(carriedSet, timeToLive: carried.timeToLive) }
        }
        origin.withLock { $0 = Origin(key: OwnChallengeKey(carried.key), epoch: carried.epoch) }
    }
}

/// The outcome of an attempt to use a challenge of ``PasskeyChallenges``.
package enum PasskeyChallengeSpending: Sendable {
    case spent(SpentPasskeyChallenge)
    /// Never `.spent`.
    case refused(ChallengeSpending)
}

/// An authentic challenge that was neither expired nor used. Only ``PasskeyChallenges`` makes one.
package struct SpentPasskeyChallenge: Sendable {
    /// In a fleet it counts as used when the store knows it too. `nil` for a single gateway.
    package let mark: (SingleUseMark, StoreIncarnation)?

    fileprivate init(mark: (SingleUseMark, StoreIncarnation)?) { self.mark = mark }
}

/// What challenges of the earlier process are recognised by, and which of them were used, by purpose.
package struct CarriedPasskeyChallenges: Codable, Sendable {
    let key: Secret
    let epoch: MonotonicTime
    let timeToLive: UInt64
    let spent: [CarriedSpentSet]
}

/// A mutex that an array can have.
private final class Mutexed<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }

    func withLock<Result, Failure>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result { try value.withLock(body) }
}
