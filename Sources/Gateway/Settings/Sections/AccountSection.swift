package import Accounts
import Admission
import KeyStore

package struct AccountSection: SettingSection {
    package static let title = "Accounts and passkeys"

    package let relyingPartyID = StartSetting<String?>.text(
        "PASSKEY_RP_ID", default: nil, "a host name",
        "The domain that passkeys are for. With it players have accounts; it needs PUBLIC_ORIGIN.",
        details: """
            For example mud.example.com, or example.com for several hosts. Danger: with another one all passkeys are lost. \
            On it, port 443 must serve the files of /.well-known/.
            """, SettingGrammar.relyingPartyID)
    package let origins = StartSetting<[String]>.text(
        "PASSKEY_ORIGINS", default: [], "origins, comma-separated",
        "Pages whose passkeys are accepted; empty: PUBLIC_ORIGIN, and `https://` with the RP ID, which apps on iOS send.",
        details: """
            Pages of other domains may use the passkeys, too (related origins): they are named in /.well-known/webauthn, and may call \
            /api/auth/ and connect.
            """, SettingGrammar.origins)
    package let androidApps = StartSetting<[AndroidApp]>.text(
        "PASSKEY_ANDROID_APPS", default: [], "`package:SHA-256`, comma-separated",
        "Apps on Android whose passkeys are accepted, each with the SHA-256 of its signing certificate in hexadecimal.",
        SettingGrammar.androidApps)
    package let attestation = StartSetting<PasskeyAttestation>.text(
        "PASSKEY_ATTESTATION", default: .none, written: "none", "`none`, or `required:` and a directory",
        "Whether an authenticator has to prove its model when a passkey is made.",
        details: """
            The directory has the root certificates of each format, in PEM: packed.pem, apple.pem, android-key.pem and fido-u2f.pem, at \
            least one. Most passkeys that are synchronised have no attestation, and are refused then.
            """, SettingGrammar.passkeyAttestation)
    package let signUp = LiveSetting<SignUpRule>.choice(
        "ACCOUNT_SIGN_UP", default: .proven,
        "How an account begins: not at all, with credentials that upgrades accept, or by anyone.",
        details: """
            Accounts that anyone could make are admitted only where a route has admit=passkey, and end after 90 days if nobody ever signs \
            in to them.
            """)
    package let signUpsPerHour = LiveSetting<Int>.integer(
        "SIGN_UPS_PER_HOUR", default: SignUpLimits.defaultPerHour, 1...10_000, "accounts",
        "New accounts of an IPv4 address or IPv6 /64; of a /48, and of a client with a proof, ten times as many.")
    package let maximumAccounts = LiveSetting<Int>.integer(
        "MAX_ACCOUNTS", default: AccountLimits.defaultMaximumAccounts, 1...10_000_000, "accounts",
        "Accounts in the store. No further ones are made.")
}

/// `PASSKEY_ATTESTATION`
package enum PasskeyAttestation: Sendable, Equatable {
    case none
    /// - Parameter directory: of the root certificates.
    case required(directory: String)
}
