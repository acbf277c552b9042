import CBOR
import DeviceSimulation
import FoundationEssentials
import StrictDER

@testable import WebAuthn

/// The ceremonies of passkeys: what browsers and authenticators send.
let passkeyFuzzTargets = [
    FuzzTarget("passkey-client-data") { bytes in
        guard let data = try? CollectedClientData(json: bytes) else { return }
        try require(isUTF8(bytes), "what is read is UTF-8")
        try require(
            bytes.count <= WebAuthnLimits.maximumClientDataBytes && data.origin.utf8.count <= bytes.count,
            "and no longer than allowed")
        guard (try? data.verifyOrigin(of: PasskeySample.relyingParty)) != nil else { return }
        try require(
            PasskeySample.relyingParty.origins.contains { Array($0.utf8) == Array(data.origin.utf8) },
            "an accepted origin is a known one")
    },
    FuzzTarget("passkey-data") { bytes in
        guard let data = try? AuthenticatorData(bytes) else { return }
        try require(
            data.rpIDHash == Array(bytes.prefix(32)) && data.flags.rawValue == bytes[32], "fields keep their places")
        try require((try? AuthenticatorData(bytes + [0])) == nil, "nothing follows the last field")
        guard let credential = data.credential else {
            return try require(!data.flags.contains(.attestedCredential), "a flag announces what follows")
        }
        let front = credential.aaguid + [UInt8(credential.id.count >> 8), UInt8(credential.id.count & 0xFF)]
        try require(
            bytes.dropFirst(37).starts(with: front + credential.id + credential.key.bytes),
            "a credential is its parts, one after the other")
    },
    FuzzTarget("cose-key") { bytes in
        guard let key = try? CredentialPublicKey(cose: bytes) else { return }
        try require(key.cose == bytes, "a key keeps its bytes")
        let value = try CBORDecoder.decode(bytes, maximumBytes: bytes.count, within: .ceremony)
        guard case .map(let map) = value else { throw FuzzViolation(description: "a key is a map") }
        try require(map[3]?.integer == key.algorithm.rawValue, "a key has its algorithm")
        try require(map.entries.count == (key.algorithm == .es256 || key.algorithm == .es384 ? 5 : 4), "and no more")
        // Whatever the key is: it verifies, and comes back.
        _ = try? key.key.verify(PasskeySample.signature, over: PasskeySample.signedBytes)
    },
    FuzzTarget("passkey-object") { bytes in
        guard let object = try? AttestationObject(bytes) else { return }
        try require(
            bytes.contains(object.authenticatorData) && object.format.utf8.count <= WebAuthnLimits.maximumFormatBytes,
            "the parts of an object stand in it")
        guard let statement = try? AttestationStatement(format: object.format, object.statement) else { return }
        guard case .packed(let packed) = statement else { return }
        for certificate in packed.path?.certificates ?? [] {
            try require(bytes.contains(certificate.encodedDER), "certificates are those that were sent")
        }
    },
    FuzzTarget("key-description") { bytes in
        guard let description = try? AndroidKeyDescription(bytes[...]) else { return }
        try require(bytes.contains(description.challenge), "a challenge stands in its description")
        try require((try? AndroidKeyDescription((bytes + [0])[...])) == nil, "nothing follows a description")
    },
    FuzzTarget(
        "passkey-registration",
        awaiting: { bytes in
            let verified = try? await PasskeySample.registrations.verify(
                RegistrationResponse(clientDataJSON: PasskeySample.registrationClientData, attestationObject: bytes),
                challenge: PasskeySample.challenge, at: PasskeySample.time)
            guard let verified else { return }
            try require(
                verified.record.publicKey == PasskeySample.record.publicKey
                    && verified.record.id == PasskeySample.record.id && verified.attestation.isTrusted,
                "only what the vendor has signed is verified")
        }),
    // Two bytes for the client data's length, the client data, two for the authenticator data's, the authenticator
    // data, the signature.
    FuzzTarget("passkey-authentication") { bytes in
        var rest = bytes[...]
        func part() -> [UInt8] {
            let length = rest.prefix(2).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(2)
            defer { rest = rest.dropFirst(length) }
            return Array(rest.prefix(length))
        }
        let (clientData, data) = (part(), part())
        let verified = try? PasskeySample.authentications.verify(
            AuthenticationResponse(clientDataJSON: clientData, authenticatorData: data, signature: Array(rest)),
            challenge: PasskeySample.challenge, credential: PasskeySample.record)
        guard let verified else { return }
        try require(
            data + PasskeySample.hash(clientData) == PasskeySample.signedBytes && verified.record.signCount == 1,
            "only what the passkey has signed is verified")
    },
]
