package import Admission
import KeyStore

package struct TokenSection: SettingSection {
    package static let title = "Access tokens"

    package let lifetimeSeconds = LiveSetting<Int>.integer(
        "ACCESS_TOKEN_TTL_SECONDS", default: TokenSettings.defaultLifetimeSeconds, 120...86_400, "s",
        "How long an access token from `POST /token` is valid.",
        details: """
            Access tokens are issued wherever App Attest is configured. Clients ask for a new one 60 s before the end. Danger: backends that \
            verify tokens offline accept one until its end, even if its device is revoked meanwhile.
            """)
    package let accountLifetimeSeconds = LiveSetting<Int>.integer(
        "ACCOUNT_TOKEN_TTL_SECONDS", default: AccountSettings.defaultLifetimeSeconds, 120...86_400, "s",
        "How long an access token of a player who has signed in with a passkey is valid.")
    package let refreshLifetimeDays = LiveSetting<Int>.integer(
        "REFRESH_TOKEN_TTL_DAYS", default: RefreshLimits.defaultLifetimeDays, 1...365, "days",
        "How long a refresh token is valid; each use gives a new one.",
        details: "A player who comes back within it stays signed in.")
    package let refreshRepeatSeconds = LiveSetting<Int>.integer(
        "REFRESH_REPEAT_SECONDS", default: RefreshLimits.defaultRepeatSeconds, 0...600, "s",
        "How long the last use of a refresh token may be repeated at will; after that, only once.")
    package let nonces = LiveSetting<NonceDemand>.choice(
        "DPOP_NONCE", default: .off, "Where the proof of a request needs a nonce of the server.",
        details: """
            `token` is at POST /token, `always` also at every request with an access token; a registration never needs one. With a nonce no \
            proof can be made in advance. Clients that keep no nonce send each such request twice.
            """)
    package let sessionOutlivesToken = LiveSetting<Bool>.boolean(
        "SESSION_OUTLIVES_TOKEN", default: true,
        "Whether a session continues after the access token that opened it has expired; with `false` it is closed.")
    package let maximumProofs = StartSetting<Int>.integer(
        "MAX_SPENT_PROOFS", default: 100_000, 16...10_000_000, "proofs",
        "Used proofs that are remembered, each for 30 s as a rule: by default some 3,300 requests a second. Further ones are answered 429. It is also the number of used challenges, until they expire; further ones are answered 503.",
        details: """
            Forgetting one early would allow its reuse. \
            Registrations, POST /token and requests with an access token may have as many each. One key may have 1,000 of them, and fewer as they run \
            out: it makes 33 requests a second at most. A client whose clock is ahead takes a place for up to a minute.
            """)
}
