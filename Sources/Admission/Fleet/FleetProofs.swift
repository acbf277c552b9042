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
        let own = replays.own(of: endpoint).spend(proof.use, at: moment.date)
        guard own == .spent, let fleet else { return then(.success(own)) }
        fleet.spend(proof.use, at: endpoint, moment.monotonic, then: then)
    }

    func spend(
        _ proof: UnspentProof, at endpoint: ProofEndpoint, _ moment: Moment
    ) async throws(KeyRegistryError) -> ReplaySpending {
        let own = replays.own(of: endpoint).spend(proof.use, at: moment.date)
        guard own == .spent, let fleet else { return own }
        return try await Fleet.answer { fleet.spend(proof.use, at: endpoint, moment.monotonic, then: $0) }
    }
}

extension Fleet {
    fileprivate func spend(
        _ proof: ProofUse, at endpoint: ProofEndpoint, _ time: MonotonicTime,
        then: @escaping @Sendable (Result<ReplaySpending, KeyRegistryError>) -> Void
    ) {
        let (incarnation, end) = (identity.incarnation, proof.expires.multipliedReportingOverflow(by: 1_000))
        guard !end.overflow, end.partialValue > identity.incarnationBegan + Self.doubtAfterLoss,
            let mark = SingleUseMark(endpoint.kind, bytes: proof.identity, expires: end.partialValue + 999)
        else { return then(.success(.undecidable)) }
        spend(FleetUse(mark: mark, incarnation: incarnation), at: time) { then($0.map(\.ofProof)) }
    }

    /// Milliseconds. A proof isn't bound to an incarnation: one that was used before may be presented again after. A client's clock may have been ahead by a window
    /// then, and a proof is accepted for a window after its time.
    private static var doubtAfterLoss: Int64 { Int64(2_000 * DPoPVerifier.defaultWindow) }
}

extension MarkSpending {
    fileprivate var ofProof: ReplaySpending {
        switch self {
        case .spent: .spent
        case .alreadySpent: .replayed
        case .foreign, .expired: .undecidable
        case .full: .full
        }
    }
}
