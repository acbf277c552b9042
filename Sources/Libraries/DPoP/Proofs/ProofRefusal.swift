/// The claims of a proof (RFC 9449 section 4.2).
public enum ProofClaim: String, Hashable, Sendable, CaseIterable {
    case jti, htm, htu, iat, ath, nonce, exp, nbf
}

/// The first failed check of a proof. It contains no secret and no client input, so all of it may be
/// logged. ``code`` and ``clientDescription`` are for the client.
public enum ProofRefusal: Error, Hashable, Sendable {
    // The request.

    /// An access token without a `DPoP` field. A bound token needs a proof, whatever the scheme (RFC 9449 section 7.2).
    case tokenWithoutProof
    /// Neither a `DPoP` field nor an access token.
    case missing
    /// More than one `DPoP` field (check 1).
    case severalFields
    /// The access token isn't bound to any key (RFC 9449 section 7.1).
    case tokenNotBound

    // The proof.

    /// Not one well-formed JWS with the right `typ` and `alg` (checks 2, 4 and 5).
    case malformed(JOSEError)
    /// A required claim is absent, or a claim has another type or is too long (check 3).
    case claim(ProofClaim)
    /// The header has no `jwk`, or it isn't a public key on P-256 (checks 5 and 7).
    case jwk(JWKError)
    /// There is no `jwk` in the header.
    case jwkMissing
    /// The signature isn't that key's (check 6).
    case signatureMismatch
    /// `htm` is another method (check 8).
    case methodMismatch
    /// `htu` is another URI (check 9).
    case uriMismatch
    /// A nonce is required, and the proof has none (check 10).
    case nonceMissing
    /// The proof's nonce isn't the server's, or has expired (check 10).
    case nonceUnknown
    /// `iat` is outside the window around now (check 11). Whole seconds; positive if the client's clock is ahead.
    case clockSkew(seconds: Int64)
    /// The proof's own `exp` or `nbf` excludes the current time (RFC 7519 sections 4.1.4 and 4.1.5).
    case outsideItsValidity
    /// The scheme is `DPoP`, and the proof has no `ath` (check 12 a).
    case tokenHashMissing
    /// `ath` is the hash of another access token (check 12 a).
    case tokenHashMismatch
    /// The access token is bound to another key (check 12 b).
    case keyMismatch

    // The replay store (RFC 9449 section 11.1).

    /// The `jti` was used with this key and URI.
    case replayed
    /// This key has reached its maximum of unexpired proofs.
    case keyLimit
    /// The replay store is full.
    case storeFull
    /// The replay store can't determine whether the proof was used: the clock was set back, or the proof has expired
    /// meanwhile.
    case undecidable
    /// The proof may have been used before the replay store's ``ReplayLife`` began: after a restart its time doesn't
    /// tell. Another proof with a nonce of that life can be decided, so answer with one of ``ServerNonces/bound(to:)``.
    case perhapsInEarlierLife
    /// The replay store couldn't be asked.
    case storeUnavailable

    public var code: DPoPErrorCode {
        switch self {
        case .tokenWithoutProof, .tokenNotBound, .keyMismatch: .invalidToken
        case .nonceMissing, .nonceUnknown, .perhapsInEarlierLife: .useNonce
        case .clockSkew: .clockSkew
        case .keyLimit, .storeFull: .rateLimited
        case .storeUnavailable: .unavailable
        case .missing, .severalFields, .malformed, .claim, .jwk, .jwkMissing, .signatureMismatch, .methodMismatch,
            .uriMismatch, .outsideItsValidity, .tokenHashMissing, .tokenHashMismatch, .replayed, .undecidable:
            .invalidProof
        }
    }
}
