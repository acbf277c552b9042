import WireText

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A request that the holder of a key has signed for, once. Only ``DPoPVerifier`` can make one.
public struct VerifiedProof: Sendable {
    /// The key that signed. Where there was an access token, it is bound to this key.
    public let key: PublicJWK
    public let method: String
    /// Without query and fragment.
    public let uri: TargetURI
    /// `iat`.
    public let issuedAt: Date
    /// The proof's nonce, for ``ServerNonces/isRenewalDue(_:at:)``. Checked only if one was required.
    public let nonce: String?
    /// Whether the proof was checked together with an access token.
    public let isForToken: Bool
}

// Method and nonce are the client's texts.
extension VerifiedProof: Hashable {
    public static func == (one: VerifiedProof, other: VerifiedProof) -> Bool {
        one.key == other.key && one.uri == other.uri && one.issuedAt == other.issuedAt
            && one.isForToken == other.isForToken && one.method.hasSameBytes(as: other.method)
            && one.nonce.map { ByteText($0) } == other.nonce.map { ByteText($0) }
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(key)
        hasher.combine(issuedAt)
    }
}

/// A proof that has passed every check but the replay store's. Only ``DPoPVerifier`` can make one.
///
/// A server that checks more than the proof spends it last: a request that fails elsewhere then takes no place in the
/// replay store.
public struct UnspentProof: Sendable {
    /// The key that signed.
    public var key: PublicJWK { verified.key }
    let verified: VerifiedProof
    /// What a replay store has to record. A server with a store of another kind passes its answer to
    /// ``concluded(by:)``.
    public let use: ProofUse

    /// Uses the proof up. Of any number of calls for the same proof one succeeds.
    public func spend(in replays: some ReplayStore, at time: Date) throws(ProofRefusal) -> VerifiedProof {
        try concluded(by: replays.spend(use, at: time))
    }

    /// The same with a store that answers later.
    public func spend(in replays: some AsyncReplayStore, at time: Date) async throws(ProofRefusal) -> VerifiedProof {
        try concluded(by: await replays.spend(use, at: time))
    }

    /// - Parameter spending: the answer of the replay store about ``use``, after which the proof counts as used.
    public func concluded(by spending: ReplaySpending) throws(ProofRefusal) -> VerifiedProof {
        switch spending {
        case .spent: return verified
        case .replayed: throw .replayed
        case .keyLimit: throw .keyLimit
        case .full: throw .storeFull
        case .undecidable: throw .undecidable
        case .perhapsInEarlierLife: throw .perhapsInEarlierLife
        case .unavailable: throw .storeUnavailable
        }
    }
}
