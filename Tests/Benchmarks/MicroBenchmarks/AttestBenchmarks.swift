import AppAttest
import Benchmark
import CBOR
import Crypto
import DeviceSimulation
import FoundationEssentials

/// The cost of App Attest, and the share of the signature in an assertion's cost.
func attestBenchmarks() {
    let stage = DeviceStage()
    let clientDataHash = DeviceStage.clientDataHash
    let attestation = stage.attestation(over: clientDataHash)
    let assertion = stage.assertion(over: clientDataHash)
    let verifier = stage.attestationVerifier
    let (keyID, key, app) = (stage.keyID, stage.publicKeyX963, DeviceStage.app)

    measure("attestation: verify", times: .one) {
        blackHole(
            try await verifier.verify(
                attestation: attestation, keyID: keyID, clientDataHash: clientDataHash, at: DeviceStage.time))
    }
    measure("attestation: decode CBOR", times: .kilo) { _ in
    } _: { _, _ in
        blackHole(try CBORDecoder.decode(attestation, maximumBytes: CBORLimits.maximumAttestationBytes))
    }
    measure("assertion: verify (parse, hash, ECDSA)", times: .one) { _ in
    } _: { _, _ in
        blackHole(
            try AssertionVerifier().verify(
                assertion: assertion, clientDataHash: clientDataHash, publicKeyX963: key, app: app, previousCounter: 0))
    }
    measure("assertion: decode CBOR", times: .kilo) { _ in
    } _: { _, _ in
        blackHole(try CBORDecoder.decode(assertion, maximumBytes: CBORLimits.maximumAssertionBytes))
    }
    measureSignature(of: assertion, by: key)
}

/// ECDSA alone: the key and the signature are read before, and the nonce is hashed.
private func measureSignature(of assertion: [UInt8], by publicKeyX963: [UInt8]) {
    measure("assertion: ECDSA alone", times: .one) { _ in
        let object = try AssertionObject(assertion)
        return (
            key: try P256.Signing.PublicKey(x963Representation: publicKeyX963),
            signature: try P256.Signing.ECDSASignature(derRepresentation: object.signature),
            nonce: SHA256.hash(data: Array(SHA256.hash(data: object.authenticatorData + DeviceStage.clientDataHash)))
        )
    } _: { state, _ in
        guard state.key.isValidSignature(state.signature, for: state.nonce) else { fatalError("the signature is good") }
    }
    measure("assertion: read the public key", times: .kilo) { _ in
    } _: { _, _ in
        blackHole(try P256.Signing.PublicKey(x963Representation: publicKeyX963))
    }
}
