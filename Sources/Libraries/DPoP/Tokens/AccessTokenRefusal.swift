/// Why an access token isn't accepted. Nothing in it is secret; all of it is for the log, and ``code`` and
/// ``clientDescription`` are for the client.
public enum AccessTokenRefusal: Error, Hashable, Sendable {
    /// Not a JWS with `typ` `at+jwt` and `alg` `ES256`.
    case malformed(JOSEError)
    /// The header has no `kid`, or the key set has no such key: it is unknown, retired or revoked.
    case unknownKey
    /// The signature isn't that key's.
    case signatureMismatch
    /// A claim is absent, has another type or an invalid value.
    case claim(AccessTokenClaim)
    /// There is no `cnf`: a bearer token.
    case notBound
    /// `iss` is another issuer.
    case wrongIssuer
    /// `aud` doesn't name this server.
    case wrongAudience
    /// `exp` has passed.
    case expired
    /// `iat` or `nbf` is later than now.
    case notYetValid

    /// For the client: always `invalid_token` (RFC 6750 section 3.1).
    public var code: DPoPErrorCode { .invalidToken }
}
