package import KeyStore

/// `DPOP_NONCE`: where a proof needs a nonce of the server. A registration never needs one.
package enum NonceDemand: String, CaseIterable, Sendable {
    case off
    /// Only at `POST /token`.
    case token
    /// At `POST /token` and at every request with an access token.
    case always
}

/// The settings of access tokens, and the state that they share with the rest of the gateway.
package struct TokenSettings: Sendable {
    /// `ACCESS_TOKEN_TTL_SECONDS`. Clients ask for a new token a minute before the end, so it is at least two minutes.
    package static let defaultLifetimeSeconds = 300

    /// `iss`.
    package var issuer: String
    /// `aud`.
    package var audience: String
    package var lifetimeSeconds: Int
    /// `DPOP_NONCE`
    package var nonces: NonceDemand = .off
    /// `SESSION_OUTLIVES_TOKEN`
    package var sessionOutlivesToken = true
    /// `PUBLIC_ORIGIN`: scheme, host and port of the URLs that clients use; nil: those of each request.
    package var publicOrigin: String?
    package var keys: TokenKeys
    /// The used proofs of each endpoint: none can fill the store of another.
    package var replays: ProofReplays
    /// The devices' keys, for tokens of attested devices; nil: there are none.
    package var devices: AppAttestSettings?
    /// nil: development tokens are off, and all of them are refused.
    package var development: (any DevelopmentTokenRegistry & ImmediateDevelopmentTokenRegistry)?

    package init(
        issuer: String, audience: String, lifetimeSeconds: Int = defaultLifetimeSeconds, keys: TokenKeys,
        replays: ProofReplays, devices: AppAttestSettings?
    ) {
        self.issuer = issuer
        self.audience = audience
        self.lifetimeSeconds = lifetimeSeconds
        self.keys = keys
        self.replays = replays
        self.devices = devices
    }

    /// The URL of a request as its client sees it; the query doesn't matter to proofs.
    ///
    /// - Parameters:
    ///   - host: of the request; nil if it has none, which no proof matches.
    ///   - path: as in the request line.
    package func url(isTLS: Bool, host: String?, path: String) -> String {
        let origin = publicOrigin ?? host.map { (isTLS ? "https://" : "http://") + $0 }
        return (origin ?? "") + path
    }
}
