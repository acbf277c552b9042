public import FoundationEssentials

/// A request that the holder of a key has signed for, once. Only ``DPoPVerifier`` can make one.
public struct VerifiedProof: Hashable, Sendable {
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
