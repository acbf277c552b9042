/// An access token that a request presents, with the key that it is bound to.
public struct BoundToken: Hashable, Sendable {
    let presented: PresentedToken
    let key: JWKThumbprint?

    /// A token of an ``AccessTokenVerifier``.
    public init(_ token: VerifiedAccessToken) { (presented, key) = (token.presented, token.claims.boundKey) }

    /// A token of another kind, introspected at its issuer.
    ///
    /// - Parameter key: `cnf.jkt` of its introspection; nil where there is none, which is refused.
    public init(_ presented: PresentedToken, boundTo key: JWKThumbprint?) {
        (self.presented, self.key) = (presented, key)
    }
}

/// The request that a proof must match.
public struct ProofRequest: Sendable {
    /// The values of all `DPoP` fields, without white space around them.
    public var proofs: [String]
    /// As in the request line; methods are case-sensitive (RFC 9110 section 9.1).
    public var method: String
    /// The URL of the request as the client sees it: scheme and host are those outside of any proxy.
    public var url: String
    /// nil at the token endpoint and for a registration; `ath` isn't checked then.
    public var token: BoundToken?

    public init(proofs: [String], method: String, url: String, token: BoundToken? = nil) {
        (self.proofs, self.method, self.url, self.token) = (proofs, method, url, token)
    }
}
