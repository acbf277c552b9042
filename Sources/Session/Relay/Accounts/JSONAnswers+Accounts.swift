import Accounts
import Admission
import KeyStore
import Reactors
import WireText

extension JSONAnswers {
    /// Options of a ceremony, which are made elsewhere.
    static func options(_ body: [UInt8]) -> HTTPAnswer {
        HTTPAnswer(status: 200, headers: headers, body: body)
    }

    static func signedIn(_ token: IssuedAccountToken) -> HTTPAnswer {
        var answer = json(200) {
            $0.member("accessToken", token.text)
            $0.member("expiresIn", Int64(token.lifetimeSeconds))
            if let refresh = token.refresh {
                $0.member("refreshToken", refresh.text)
                $0.member("refreshExpiresIn", Int64(refresh.lifetimeSeconds))
            }
        }
        if let nonce = token.freshNonce { answer.headers.append(("DPoP-Nonce", nonce)) }
        return answer
    }

    static func registered(_ passkey: RegisteredPasskey) -> HTTPAnswer {
        json(200) {
            $0.member("account", passkey.account.text)
            $0.member("passkey", Base64URL.encode(passkey.credentialID))
        }
    }

    static func joined(_ device: KeyID) -> HTTPAnswer { json(200) { $0.member("device", device.base64) } }

    static func deviceChallenge(_ challenge: DeviceChallenge) -> HTTPAnswer {
        json(200) {
            $0.member("challenge", Base64URL.encode(challenge.bytes))
            $0.member("account", challenge.account.text)
        }
    }

    static func challenge(_ challenge: [UInt8]) -> HTTPAnswer {
        json(200) { $0.member("challenge", Base64URL.encode(challenge)) }
    }

    static func signedOut() -> HTTPAnswer { json(200) { $0.member("signedOut", true) } }

    static func removed() -> HTTPAnswer { json(200) { $0.member("removed", true) } }

    /// Times in Unix milliseconds.
    static func account(_ account: Account) -> HTTPAnswer {
        json(200) {
            $0.member("account", account.id.text)
            $0.member("passkeys", json: account.passkeys.map(passkey))
            $0.member("devices", json: account.devices.map(device))
        }
    }

    private static func passkey(_ passkey: Passkey) -> [UInt8] {
        var entry = JSONWriter()
        entry.member("id", Base64URL.encode(passkey.credentialID))
        entry.member("label", passkey.label)
        entry.member("madeAt", passkey.madeAt)
        if let used = passkey.lastUsedAt { entry.member("lastUsedAt", used) }
        entry.member("isBackedUp", passkey.isBackedUp)
        return entry.object
    }

    private static func device(_ device: AccountDevice) -> [UInt8] {
        var entry = JSONWriter()
        entry.member("id", device.key.base64)
        entry.member("label", device.label)
        entry.member("joinedAt", device.joinedAt)
        return entry.object
    }
}
