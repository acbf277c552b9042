import Crypto
import DeviceSimulation
import FoundationEssentials
import StrictDER
import SwiftASN1
import X509

@testable import WebAuthn

/// A passkey's ceremonies: JSON, CBOR, and the names in certificates.
let passkeyPlaces = places {
    clientData("a member's name", #"{"$":1}"#)
    clientData("two members' names", #"{"$":1,"$a":2}"#)
    clientData("the type", #"{"type":"$","challenge":"","origin":""}"#)
    clientData("the challenge", #"{"type":"webauthn.get","challenge":"$","origin":""}"#)
    clientData("the origin", #"{"type":"webauthn.get","challenge":"AQ","origin":"$"}"#)
    clientData(
        "the top origin",
        #"{"type":"webauthn.get","challenge":"AQ","origin":"https://mud.example","crossOrigin":true,"topOrigin":"$"}"#)
    bytes("client data of hostile bytes", bytes: WebAuthnLimits.maximumClientDataBytes) { readClientData($0) }

    attestationObject("the format") { .map([(.text("fmt"), $0)]) }
    attestationObject("a key") { .map([($0, .unsigned(1))]) }
    attestationObject("a statement's key") {
        .map([
            (.text("fmt"), .text("packed")), (.text("attStmt"), .map([($0, .null)])), (.text("authData"), .bytes([])),
        ])
    }
    bytes("an attestation object of hostile bytes", bytes: WebAuthnLimits.maximumAttestationBytes) { readObject($0) }
    bytes("a passkey's authenticator data", bytes: WebAuthnLimits.maximumAttestationBytes) {
        use(try? AuthenticatorData($0))
    }
    bytes("a passkey's public key", bytes: WebAuthnLimits.maximumAttestationBytes) {
        use(try? CredentialPublicKey(cose: $0))
    }
    certificate("the name of an attestation certificate", bytes: 12_000)
}

private func clientData(_ name: String, _ message: String) -> HostilePlace {
    json("\(name) in client data", bytes: WebAuthnLimits.maximumClientDataBytes - 256, in: message, readClientData)
}

private func readClientData(_ bytes: [UInt8]) {
    let relyingParty = RelyingParty(
        id: "mud.example", origins: ["https://mud.example"], topOrigins: ["https://mud.example"])
    do throws(CeremonyError) {
        let data = try CollectedClientData(json: bytes)
        try data.verifyType(is: .get)
        try data.verifyChallenge(is: [1])
        try data.verifyOrigin(of: relyingParty)
        try data.verifyTopOrigin(relyingParty)
    } catch {
        use("\(error)")
    }
}

/// - Parameter object: with the text as an item.
private func attestationObject(
    _ name: String, _ object: @escaping @Sendable (CBORItem) -> CBORItem
) -> HostilePlace {
    made("\(name) of an attestation object", bytes: WebAuthnLimits.maximumAttestationBytes - 256) { bytes in
        let encoded = object(.text(String(decoding: bytes, as: UTF8.self))).encoded
        return { readObject(encoded) }
    }
}

private func readObject(_ bytes: [UInt8]) {
    guard let object = try? AttestationObject(bytes) else { return }
    use(try? AttestationStatement(format: object.format, object.statement))
}

/// The text is in the subject and in the issuer, which are hashed and compared.
private func certificate(_ name: String, bytes: Int) -> HostilePlace {
    prepared(name, bytes: bytes / 2) { text in
        let time = Date(timeIntervalSince1970: 1_777_593_600)
        let names = [PasskeyCertificatePlan.NamePart(.RDNAttributeType.commonName, text)]
        let key = P256.Signing.PrivateKey()
        let encoded = try PasskeyCertificatePlan.authority(
            names, by: names, Certificate.PublicKey(key.publicKey), at: time
        ).issue(by: Certificate.PrivateKey(key), .ecdsaWithSHA256).encodedDER
        return {
            guard let path = try? CertificatePath([encoded, encoded]) else { return }
            use(path.certificates[0].subject == path.certificates[1].issuer)
            use(Set(path.certificates.map(\.subject)))
        }
    }
}
