import Admission

/// Of passkeys (Web Authentication Level 3, sections 7.1 and 7.2) and of players' accounts.
extension AdmissionCheck {
    var accountTitle: String? {
        switch self {
        case .account: "the account is there and open, and has the passkey"
        case .passkeyKnown: "an account has the passkey"
        case .passkeyClientData: "the client data is well-formed, and of this ceremony"
        case .passkeyOrigin: "the page or app is one of PASSKEY_ORIGINS"
        case .relyingParty: "the passkey is for this RP ID"
        case .userPresence: "the player was present, and verified"
        case .backupState: "only a passkey that may be backed up is"
        case .passkeyAlgorithm: "the passkey's key is of an algorithm that was offered"
        case .attestationStatement: "the attestation statement is correct"
        case .attestationTrust: "the attestation leads to a trust anchor, where one is required"
        case .freshPasskey: "a passkey was used for this request"
        case .signUp: "ACCOUNT_SIGN_UP allows a new account"
        case .accountRoom: "there is room, and nobody else has the passkey or device"
        case .refreshKnown: "the refresh token's family is there"
        case .refreshKey: "the proof is of the family's key"
        case .refreshLifetime: "the refresh token has not expired"
        case .refreshUnused: "the refresh token's successor was not used"
        case .refreshRepeat: "the refresh token is repeated soon, or later for the first time"
        default: nil
        }
    }

    var accountAdvice: String? {
        switch self {
        case .account:
            "The account was closed or removed, or the passkey was: see `portcullis accounts show`. Sign in again with another passkey."
        case .passkeyKnown:
            "The player has removed the passkey here, and the device still has it: call signalUnknownCredential. After a restored backup of the store, newer passkeys are lost."
        case .passkeyClientData:
            "Send clientDataJSON as the browser returned it: of create() to register, of get() to authenticate."
        case .passkeyOrigin:
            "The passkey was used on another page or in another app. Add the origin to PASSKEY_ORIGINS, or the app to PASSKEY_ANDROID_APPS; pages in frames are refused."
        case .relyingParty:
            "The client used another rpId than PASSKEY_RP_ID: pass on the options as they are. A changed PASSKEY_RP_ID loses all passkeys."
        case .userPresence:
            "The authenticator hasn't verified the player: ask for userVerification required, and use one with a PIN or biometrics."
        case .backupState: "The authenticator contradicts itself, or the data was changed on its way."
        case .passkeyAlgorithm: "Pass on pubKeyCredParams of the options as they are."
        case .attestationStatement: "The statement was changed on its way, or the authenticator is faulty."
        case .attestationTrust:
            "PASSKEY_ATTESTATION is required, and no configured root vouches for this authenticator."
        case .freshPasskey:
            "Get options from /api/auth/passkey/authenticate/options, call get(), and send the result as the member passkey."
        case .signUp:
            "ACCOUNT_SIGN_UP is off, or proven and the client has shown nothing that an account may begin with."
        case .accountRoom:
            "The account has 10 passkeys or 16 devices, another account has this one, or MAX_ACCOUNTS are made."
        case .refreshKnown:
            "The player has signed out, or the family was ended, or the store is a restored copy. The player signs in again."
        case .refreshKey:
            "Somebody else has the token, or the client has lost its key. Nothing was revoked. The player signs in again."
        case .refreshLifetime: "Nobody used it for REFRESH_TOKEN_TTL_DAYS. The player signs in again."
        case .refreshUnused:
            "Two use the tokens of one family, or a client doesn't store the successor before it uses it. The family has ended: the player signs in again."
        case .refreshRepeat:
            "The client has lost the answers to the use and to a repetition after REFRESH_REPEAT_SECONDS. Nothing was revoked. The player signs in again."
        default: nil
        }
    }
}
