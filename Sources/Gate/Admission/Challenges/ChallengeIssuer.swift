import KeyStore

/// Who issues a gateway's challenges and answers for them. Nothing else of the challenges asks whether there is a
/// fleet.
enum ChallengeIssuer: Sendable {
    /// This process and those that take over from it.
    case process
    /// All gateways of the fleet, which accept each other's challenges. Its store decides which were spent.
    case fleet(FleetIdentity)

    init(_ fleet: FleetIdentity?) { self = fleet.map(Self.fleet) ?? .process }

    /// Milliseconds by which the clocks of those that issue and accept may differ.
    var tolerance: UInt64 {
        switch self {
        case .process: Challenges.clockTolerance
        case .fleet: UInt64(FleetClock.tolerance)
        }
    }

    /// - Parameters:
    ///   - purpose: of a fleet's key.
    ///   - lifetime: in milliseconds. It is part of the purpose: what one gateway has forgotten as expired, no gateway
    ///     with a longer time accepts.
    ///   - own: the key and the epoch of this process.
    func view(
        for purpose: String, lifetime: UInt64, at time: MonotonicTime,
        own: () -> (ChallengeKey, MonotonicTime)
    ) -> ChallengeView {
        switch self {
        case .process:
            let (key, epoch) = own()
            return ChallengeView(keys: .own(key), time: time.milliseconds(since: epoch), lifetime: lifetime)
        case .fleet(let identity):
            let view = identity.view(of: "\(purpose) \(lifetime)", lifetime: lifetime, at: time)
            return ChallengeView(keys: .fleet(view), time: UInt64(clamping: view.time), lifetime: lifetime)
        }
    }
}

/// One moment's view of all that issuing and recognising challenges need.
struct ChallengeView {
    fileprivate enum Keys {
        case own(ChallengeKey)
        case fleet(FleetIdentity.View)
    }

    private let keys: Keys
    /// Now, in milliseconds since the epoch of the challenges.
    private let time: UInt64
    /// Milliseconds.
    private let lifetime: UInt64

    fileprivate init(keys: Keys, time: UInt64, lifetime: UInt64) {
        (self.keys, self.time, self.lifetime) = (keys, time, lifetime)
    }

    /// - Parameter more: what the MAC covers besides.
    func challenge(covering more: [UInt8] = []) -> Challenge {
        let key =
            switch keys {
            case .own(let own): own
            case .fleet(let view): view.issuing.key.challenges
            }
        return Challenge(issuedAt: time, key: key, covering: more)
    }

    func accepts(_ challenge: Challenge, covering more: [UInt8] = []) -> Bool {
        switch keys {
        case .own(let key): challenge.isAuthentic(under: key, covering: more)
        case .fleet(let view): view.accepts { challenge.isAuthentic(under: $0.challenges, covering: more) }
        }
    }

    /// Marks an authentic challenge as spent at this gateway.
    ///
    /// - Returns: why it can't be; nil: it is.
    func spend(_ challenge: Challenge, in spent: inout SpentSet) -> ChallengeSpending? {
        prepare(&spent)
        return refusal(spent.insert(challenge.identity, issuedAt: challenge.issuedAt, at: time), of: challenge)
    }

    /// Why an authentic challenge couldn't be spent now, apart from a lack of room; nil: it could.
    func refusal(of challenge: Challenge, in spent: inout SpentSet) -> ChallengeSpending? {
        prepare(&spent)
        return spent.refusal(of: challenge.identity, issuedAt: challenge.issuedAt, at: time)
            .flatMap { refusal($0, of: challenge) }
    }

    private func prepare(_ spent: inout SpentSet) {
        if case .fleet = keys { spent.startOver(ifAfter: time) }
    }

    private func refusal(_ insertion: SpentSet.Insertion, of challenge: Challenge) -> ChallengeSpending? {
        switch insertion {
        case .inserted: nil
        case .expired:
            .expired(
                ageSeconds: Int(time.subtractingReportingOverflow(challenge.issuedAt).partialValue / 1_000),
                lifeSeconds: Int(lifetime / 1_000))
        case .notYetIssued: .notYetIssued
        case .alreadySpent: .alreadySpent
        case .full(let milliseconds): .full(retryAfter: Int(milliseconds / 1_000) + 1)
        }
    }

    /// What the fleet has to mark as used before a challenge counts as spent that is spent here. It is kept for as long
    /// as any gateway could accept the challenge by its own clock. Nil: this gateway decides.
    func fleetUse(of challenge: Challenge, as kind: SingleUseMark.Kind) -> FleetUse? {
        guard case .fleet(let view) = keys else { return nil }
        let expires = Int64(clamping: challenge.issuedAt + lifetime) + FleetClock.tolerance
        guard let mark = SingleUseMark(kind, bytes: challenge.identityBytes, expires: expires) else {
            preconditionFailure("A challenge's identity is a mark.")
        }
        return FleetUse(mark: mark, incarnation: view.incarnation)
    }
}
