package import DPoP
import KeyStore

/// The endpoints that DPoP proofs are sent to: each has replay stores of its own.
package enum ProofEndpoint: Sendable {
    case registration, token, resource

    fileprivate var kind: SingleUseMark.Kind {
        switch self {
        case .registration: .registrationProof
        case .token: .tokenProof
        case .resource: .resourceProof
        }
    }
}

/// What excludes that a proof was used in an earlier life of the replay stores.
package enum FreshnessSign: Sendable {
    /// Its time, or its nonce.
    case proof
    /// A challenge of this life, which the request uses up after the proof. The App Attest key has signed it together
    /// with the proof's key, so neither the request nor its proof counts again without that key's new signature.
    case challenge
}

extension ProofReplays {
    /// The store of this gateway.
    func own(of endpoint: ProofEndpoint) -> MemoryReplayStore {
        switch endpoint {
        case .registration: registration
        case .token: token
        case .resource: resource
        }
    }
}

extension TokenSettings {
    package var fleet: Fleet? { shared ?? devices?.fleet }

    /// Uses a proof up at this gateway, whose own store has the limit for each key and finds most replays. If it is
    /// `.spent` there, the claim is for the store that has the last word.
    package func claim(
        _ proof: UnspentProof, at endpoint: ProofEndpoint, _ moment: Moment, freshBy sign: FreshnessSign
    ) -> (own: ReplaySpending, claim: ProofClaim) {
        let life = life(at: moment)
        let use = sign == .challenge ? proof.use.shown(in: life) : proof.use
        let own = replays.own(of: endpoint).spend(use, at: moment.date, in: life)
        return (own, ProofClaim(use: use, endpoint: endpoint, life: life))
    }

    /// Why this gateway would refuse the proof, apart from a lack of room; nil: it wouldn't.
    func refusal(
        of proof: UnspentProof, at endpoint: ProofEndpoint, _ moment: Moment, freshBy sign: FreshnessSign
    ) -> ReplaySpending? {
        let life = life(at: moment)
        let refusal = replays.own(of: endpoint).refusal(of: proof.use, at: moment.date, in: life)
        return sign == .challenge && refusal?.isUndecided == true ? nil : refusal
    }
}

extension ReplaySpending {
    /// What it means where this sign excludes an earlier life.
    package func found(with sign: FreshnessSign) -> ReplaySpending { sign == .challenge && isUndecided ? .spent : self }

    /// The replay stores can't tell whether the proof was used.
    fileprivate var isUndecided: Bool { self == .undecidable || self == .perhapsInEarlierLife }
}

extension Fleet {
    /// The proof was found to be unused in an incarnation of the store.
    func spend(
        _ proof: ProofClaim, at time: MonotonicTime,
        then: @escaping @Sendable (Result<ReplaySpending, KeyRegistryError>) -> Void
    ) {
        guard let use = FleetUse(proof) else { return then(.success(.undecidable)) }
        spend(use, at: time) { then($0.map(\.ofProof)) }
    }
}

extension FleetUse {
    /// Nil: the proof's life isn't one of the store's, or its time is beyond all numbers.
    init?(_ proof: ProofClaim) {
        let end = proof.use.expires.multipliedReportingOverflow(by: 1_000)
        guard !end.overflow, let incarnation = StoreIncarnation(bytes: proof.life.id),
            let mark = SingleUseMark(proof.endpoint.kind, bytes: proof.use.identity, expires: end.partialValue + 999)
        else { return nil }
        self.init(mark: mark, incarnation: incarnation)
    }
}

extension MarkSpending {
    package var ofProof: ReplaySpending {
        switch self {
        case .spent: .spent
        case .alreadySpent: .replayed
        case .foreign: .perhapsInEarlierLife
        case .expired: .undecidable
        case .full: .full
        }
    }
}
