import DPoP
import KeyStore

/// The endpoints that DPoP proofs are sent to: each has replay stores of its own.
enum ProofEndpoint {
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
enum FreshnessSign {
    /// Its time, or its nonce.
    case proof
    /// A challenge of this life, which the request uses up after the proof. The App Attest key has signed it together with the proof's key, so
    /// neither the request nor its proof counts again without that key's new signature.
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
    var fleet: Fleet? { devices?.fleet }

    /// Uses a proof up in the whole fleet. This gateway's own store comes first: it has the limit for each key, and finds most replays.
    func spend(
        _ proof: UnspentProof, at endpoint: ProofEndpoint, _ moment: Moment,
        then: @escaping @Sendable (Result<ReplaySpending, KeyRegistryError>) -> Void
    ) {
        let life = life(at: moment)
        let own = replays.own(of: endpoint).spend(proof.use, at: moment.date, in: life)
        guard own == .spent, let fleet else { return then(.success(own)) }
        fleet.spend(proof.use, at: endpoint, in: life, moment.monotonic, then: then)
    }

    func spend(
        _ proof: UnspentProof, at endpoint: ProofEndpoint, _ moment: Moment, freshBy sign: FreshnessSign
    ) async throws(KeyRegistryError) -> ReplaySpending {
        let life = life(at: moment)
        let use = sign == .challenge ? proof.use.shown(in: life) : proof.use
        var spending = replays.own(of: endpoint).spend(use, at: moment.date, in: life)
        if spending == .spent, let fleet {
            spending = try await Fleet.answer { fleet.spend(use, at: endpoint, in: life, moment.monotonic, then: $0) }
        }
        return sign == .challenge && spending.isUndecided ? .spent : spending
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
    /// The replay stores can't tell whether the proof was used.
    fileprivate var isUndecided: Bool { self == .undecidable || self == .perhapsInEarlierLife }
}

extension Fleet {
    /// - Parameter life: that in which the proof was found to be unused: an incarnation of the store.
    fileprivate func spend(
        _ proof: ProofUse, at endpoint: ProofEndpoint, in life: ReplayLife, _ time: MonotonicTime,
        then: @escaping @Sendable (Result<ReplaySpending, KeyRegistryError>) -> Void
    ) {
        let end = proof.expires.multipliedReportingOverflow(by: 1_000)
        guard !end.overflow, let incarnation = StoreIncarnation(bytes: life.id),
            let mark = SingleUseMark(endpoint.kind, bytes: proof.identity, expires: end.partialValue + 999)
        else { return then(.success(.undecidable)) }
        spend(FleetUse(mark: mark, incarnation: incarnation), at: time) { then($0.map(\.ofProof)) }
    }
}

extension MarkSpending {
    fileprivate var ofProof: ReplaySpending {
        switch self {
        case .spent: .spent
        case .alreadySpent: .replayed
        case .foreign: .perhapsInEarlierLife
        case .expired: .undecidable
        case .full: .full
        }
    }
}
