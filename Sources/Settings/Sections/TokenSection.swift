package import Admission

package struct TokenSection: SettingSection {
    package static let title = "Access tokens"

    package let lifetimeSeconds = Setting<Int>.integer(
        "ACCESS_TOKEN_TTL_SECONDS", default: TokenSettings.defaultLifetimeSeconds, 120...86_400, "s",
        "How long an access token from `POST /token` is valid.",
        details: """
            Access tokens are issued wherever App Attest is configured. Clients ask for a new one 60 s before the end. Danger: backends that \
            verify tokens offline accept one until its end, even if its device is revoked meanwhile.
            """)
    package let issuer = Setting<String?>.text(
        "ACCESS_TOKEN_ISSUER", default: nil, "an origin",
        "`iss` of access tokens, and the base of the URLs in the metadata; unset, it is `PUBLIC_ORIGIN`.",
        details: """
            If PUBLIC_ORIGIN isn't set either, it is made of the first DNS name of the server's certificate and WS_PORT, and changes when a new \
            certificate begins with another name. Danger: a change makes all access tokens invalid.
            """, reload: .restart, SettingGrammar.webOrigin)
    package let audience = Setting<String?>.text(
        "ACCESS_TOKEN_AUDIENCE", default: nil, "a URL or a name", "`aud` of access tokens; unset, it is the issuer.",
        details: "Danger: a change makes all access tokens invalid.", reload: .restart, SettingGrammar.audience)
    package let nonces = Setting<NonceDemand>.choice(
        "DPOP_NONCE", default: .off, "Where the proof of a request needs a nonce of the server.",
        details: """
            `token` is at POST /token, `always` also at every request with an access token; a registration never needs one. With a nonce no \
            proof can be made in advance. Clients that keep no nonce send each such request twice.
            """)
    package let sessionOutlivesToken = Setting<Bool>.boolean(
        "SESSION_OUTLIVES_TOKEN", default: true,
        "Whether a session continues after the access token that opened it has expired; with `false` it is closed.")
    package let publishSeconds = Setting<Int>.integer(
        "SIGNING_KEY_PUBLISH_SECONDS", default: 86_400, 0...2_592_000, "s",
        "How long a new signing key is published before it signs.",
        details: """
            Backends that verify access tokens may keep the key set for half of this time, and for an hour at most. It has to be shorter than \
            SIGNING_KEY_DAYS.
            """)
    package let signingDays = Setting<Int>.integer(
        "SIGNING_KEY_DAYS", default: 90, 0...3_650, "days",
        "How long a signing key signs before the next one does; `0` is until `portcullis signing-keys rotate`.")
    package let maximumProofs = Setting<Int>.integer(
        "MAX_SPENT_PROOFS", default: 100_000, 16...10_000_000, "proofs",
        "Used proofs that are remembered, each for 30 s as a rule: by default some 3,300 requests a second. Further ones are answered 429.",
        details: """
            Registrations, POST /token and requests with an access token may have as many each. One key may have 1,000 of them, and fewer as they run \
            out: it makes 33 requests a second at most. A client whose clock is ahead takes a place for up to a minute.
            """,
        reload: .restart)
}
