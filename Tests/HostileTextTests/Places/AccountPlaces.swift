import KeyStore
import StrictJSON
import WebAuthn
import WireText

@testable import Accounts
@testable import Admission
@testable import Relay

/// What players' apps and pages send about accounts.
let accountPlaces = places {
    account("a member", #"{"$":1}"#)
    account("two members", #"{"$":1,"$a":2}"#)
    account("dpop_jkt", #"{"dpop_jkt":"$"}"#)
    account("the label", #"{"id":"AAAA","label":"$","response":{}}"#)
    account("the id", #"{"id":"$","response":{"clientDataJSON":"e30"}}"#)
    account("the type", #"{"id":"AAAA","type":"$","response":{}}"#)
    account("a response's member", #"{"id":"AAAA","response":{"$":"$"}}"#)
    account("the client data", #"{"id":"AAAA","response":{"clientDataJSON":"$"}}"#)
    account(
        "the user handle",
        #"{"id":"AAAA","response":{"clientDataJSON":"e30","authenticatorData":"AAAA","signature":"AAAA","userHandle":"$"}}"#
    )
    account("a passkey's member", #"{"passkey":{"$":"$"}}"#)
    account("a device's key", #"{"assertion":{"keyId":"$","data":"AAAA","challenge":"AAAA"}}"#)
    bytes("a body about accounts of hostile bytes", readBody)
    text("a path of accounts") { use(AccountPath(Substring(AccountPath.prefix + $0))) }
    text("a passkey in a path") { use(AccountPath(Substring(AccountPath.prefix + "passkey/" + $0))) }
    text("a device in a path") { use(AccountPath(Substring(AccountPath.prefix + "device/" + $0))) }
    text("an account's name") { use(AccountID(text: $0)) }
    text("a passkey's name") { use(PasskeyMark(text: $0)) }
    bytes("a passkey's challenge", bytes: WebAuthnLimits.maximumClientDataBytes) { bytes in
        let challenges = PasskeyChallenges(epoch: moment.monotonic)
        use(RegistrationGrant(PasskeyChallenges.payload(of: bytes)))
        for purpose in PasskeyChallenges.Purpose.allCases {
            _ = challenges.spend(bytes, for: purpose, binding: [], at: moment.monotonic)
        }
    }
}

private let moment = Moment(
    monotonic: MonotonicTime(nanoseconds: 5_000_000_000_000), unixMilliseconds: 1_790_000_000_000)
private let relyingParty = RelyingParty(id: "mud.example", origins: ["https://mud.example"])

/// - Parameter message: with `$` for the text.
private func account(_ name: String, _ message: String) -> HostilePlace {
    json("\(name) of a body about accounts", in: message, readBody)
}

private func readBody(_ bytes: [UInt8]) {
    guard let body = try? AccountBody(bytes, maximumBytes: 65_536) else { return }
    use(try? body.label())
    use(try? body.keyThumbprint())
    use(try? body.object("assertion")["keyId"]?.string.flatMap { KeyID(text: $0) })
    for credential in [try? body.credential(), try? body.credential(in: "passkey")] {
        guard let credential else { continue }
        use(try? credential.bytes("attestationObject"))
        use(try? PasskeyProof(credential, of: relyingParty))
    }
}
