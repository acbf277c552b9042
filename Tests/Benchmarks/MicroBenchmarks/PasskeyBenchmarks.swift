import Benchmark
import Crypto
import DeviceSimulation
import FoundationEssentials

@testable import WebAuthn

/// The cost of passkeys, and the share of the signature in it. One core verifies the reciprocal of a sign-in's CPU
/// time: 200 µs are 5,000 a second.
func passkeyBenchmarks() {
    let time = Date(timeIntervalSince1970: 1_777_593_600)
    let challenge = [UInt8](repeating: 0xC5, count: 32)
    do {
        let vendor = try SimulatedVendor(at: time)
        for (name, key) in [
            ("ES256", .es256()), ("ES384", .es384()), ("EdDSA", .edDSA()), ("RS256", try .rs256()),
        ] as [(String, SimulatedPasskeyKey)] {
            measureSignIn(name, try PasskeySignInStage(key, challenge))
        }
        let stage = try PasskeySignInStage(.es256(), challenge)
        measureParts(stage)
        for (name, format) in [
            ("none", .none), ("packed, self", .packedSelf), ("packed, trusted chain", .packed),
            ("fido-u2f, trusted chain", .fidoU2F),
        ] as [(String, SimulatedPasskey.Format)] {
            let made = try stage.passkey.registration(stage.request, format, by: vendor, at: time)
            let response = RegistrationResponse(
                clientDataJSON: made.clientDataJSON, attestationObject: made.attestationObject)
            let verifier = RegistrationVerifier(
                relyingParty: PasskeySignInStage.relyingParty,
                policy: RegistrationPolicy(anchors: [.packed: [vendor.root], .fidoU2F: [vendor.root]]))
            measure("passkey: verify a registration (\(name))", times: .one) {
                blackHole(try await verifier.verify(response, challenge: challenge, at: time))
            }
        }
    } catch { fatalError("no stage: \(error)") }
}

private func measureSignIn(_ name: String, _ stage: PasskeySignInStage) {
    measure("passkey: verify a sign-in (\(name))", times: .kilo) { _ in
        AuthenticationVerifier(relyingParty: PasskeySignInStage.relyingParty)
    } _: { verifier, _ in
        blackHole(
            try verifier.verify(stage.response, challenge: stage.challenge, credential: stage.record))
    }
}

/// ES256: reading what was sent, reading the stored key, and ECDSA alone.
private func measureParts(_ stage: PasskeySignInStage) {
    measure("passkey: read the client data", times: .kilo) { _ in
    } _: { _, _ in
        blackHole(try CollectedClientData(json: stage.response.clientDataJSON))
    }
    measure("passkey: read the stored key", times: .kilo) { _ in
    } _: { _, _ in
        blackHole(try CredentialPublicKey(cose: stage.record.publicKey.cose))
    }
    let message = stage.response.authenticatorData + Array(SHA256.hash(data: stage.response.clientDataJSON))
    measure("passkey: ECDSA alone", times: .kilo) { _ in
        (
            signature: try P256.Signing.ECDSASignature(derRepresentation: stage.response.signature),
            hash: SHA256.hash(data: message)
        )
    } _: { state, _ in
        guard case .es256(let key) = stage.record.publicKey.key, key.isValidSignature(state.signature, for: state.hash)
        else { fatalError("the signature is good") }
    }
}

/// A passkey that has signed in.
private struct PasskeySignInStage {
    static let relyingParty = RelyingParty(id: "mud.example", origins: ["https://mud.example"])

    let request: PasskeyRequest
    let challenge: [UInt8]
    let passkey: SimulatedPasskey
    let record: CredentialRecord
    let response: AuthenticationResponse

    init(_ key: SimulatedPasskeyKey, _ challenge: [UInt8]) throws {
        self.challenge = challenge
        request = PasskeyRequest(rpID: "mud.example", origin: "https://mud.example", challenge: challenge)
        var passkey = SimulatedPasskey(key)
        let signed = try passkey.authentication(request)
        self.passkey = passkey
        record = CredentialRecord(
            id: passkey.credentialID,
            publicKey: try CredentialPublicKey(cose: CBORItem.map(key.coseEntries).encoded), signCount: 0,
            isBackupEligible: true, isBackedUp: true, isUserVerificationInitialized: true)
        response = AuthenticationResponse(
            clientDataJSON: signed.clientDataJSON, authenticatorData: signed.authenticatorData,
            signature: signed.signature)
    }
}
