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

    /// `iss`: the first of the gateway's own origins.
    package var issuer: String {
        get { namedIssuer ?? origins.first ?? "" }
        set { namedIssuer = newValue }
    }
    /// `aud`: the issuer.
    package var audience: String {
        get { namedAudience ?? issuer }
        set { namedAudience = newValue }
    }
    private var namedIssuer: String?
    private var namedAudience: String?
    package var lifetimeSeconds: Int
    /// `DPOP_NONCE`
    package var nonces: NonceDemand = .off
    /// `SESSION_OUTLIVES_TOKEN`
    package var sessionOutlivesToken = true
    /// Of the URLs that clients use. As long as none is known there are no tokens.
    package var origins = OwnOrigins.unknown
    package var keys: TokenKeys
    /// The used proofs of each endpoint: none can fill the store of another.
    package var replays: ProofReplays
    /// The devices' keys, for tokens of attested devices; nil: there are none.
    package var devices: AppAttestSettings?
    /// nil: development tokens are off, and all of them are refused.
    package var development: (any DevelopmentTokenRegistry & ImmediateDevelopmentTokenRegistry)?
    /// The fleet of a gateway without App Attest.
    package var shared: Fleet?
    /// nil: there are no accounts.
    package var accounts: AccountSettings?

    /// - Parameters:
    ///   - issuer, audience: nil: made of `origins`.
    package init(
        issuer: String?, audience: String?, lifetimeSeconds: Int = defaultLifetimeSeconds, keys: TokenKeys,
        replays: ProofReplays, devices: AppAttestSettings?
    ) {
        namedIssuer = issuer
        namedAudience = audience
        self.lifetimeSeconds = lifetimeSeconds
        self.keys = keys
        self.replays = replays
        self.devices = devices
    }
}

extension TokenSettings {
    /// Where the standing of tokens is asked for, and where they are used up.
    package var store: GateStore {
        var store = GateStore(devices: devices?.registry, development: development, accounts: accounts?.registry)
        store.shared = shared
        return store
    }
}

extension Refusal {
    /// Access tokens are configured, but no proof can be checked.
    package static var publicOriginRequired: Refusal {
        .token(
            .publicOriginRequired, detail: "neither PUBLIC_ORIGIN nor a certificate names this gateway",
            failed: FailedCheck(.htu))
    }
}
