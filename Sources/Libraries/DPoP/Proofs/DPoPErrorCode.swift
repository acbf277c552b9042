/// The error codes in answers to clients.
public enum DPoPErrorCode: String, Hashable, Sendable, CaseIterable {
    /// RFC 6750 section 3.1.
    case invalidRequest = "invalid_request"
    /// RFC 6750 section 3.1: another access token may help.
    case invalidToken = "invalid_token"
    /// RFC 9449 sections 5 and 7.1: another proof may help.
    case invalidProof = "invalid_dpop_proof"
    /// RFC 9449 section 8: the same request with the nonce from `DPoP-Nonce`.
    case useNonce = "use_dpop_nonce"
    /// The client's clock is wrong. RFC 9449 has no code for it; answer with the server's time.
    case clockSkew = "clock_skew"
    /// Try again later.
    case rateLimited = "rate_limited"
    /// RFC 6749 section 4.1.2.1: a failure of the server.
    case unavailable = "temporarily_unavailable"
}
