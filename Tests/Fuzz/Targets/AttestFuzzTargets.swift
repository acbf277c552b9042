import CBOR
import Crypto
import DeviceSimulation
import FoundationEssentials
import StrictDER
import X509

@testable import AppAttest

/// A device's proofs: attestations at `/attest/register`, assertions at every upgrade.
let attestFuzzTargets = [
    FuzzTarget("cbor") { bytes in
        guard let value = try? CBORDecoder.decode(bytes, maximumBytes: CBORLimits.maximumAttestationBytes) else {
            return
        }
        try require(
            CBORItem(value).encoded == bytes, "what is decoded has one encoding, which is the one that was read")
        let prefix = try CBORDecoder.decodePrefix(of: bytes + [0])
        try require(prefix.value == value && prefix.rest == [0], "an item ends where it ends, whatever follows")
    },
    FuzzTarget(
        "attestation",
        awaiting: { bytes in
            if let object = try? AttestationObject(bytes) {
                for part in [object.leaf, object.intermediate, object.receipt, object.authenticatorData] {
                    try require(bytes.contains(part), "the parts of an object stand in it")
                }
            }
            let verified = try? await AttestSample.verifier.verify(
                attestation: bytes, keyID: AttestSample.keyID, clientDataHash: AttestSample.clientDataHash,
                at: AttestSample.time)
            guard let verified else { return }
            try require(
                verified.keyID == AttestSample.keyID && verified.publicKeyX963 == AttestSample.publicKeyX963
                    && verified.environment == .production,
                "only what the authority has signed is verified")
        }),
    FuzzTarget("authenticator-data") { bytes in
        for data in [try? AuthenticatorData(attestation: bytes), try? AuthenticatorData(assertion: bytes)] {
            guard let data else { continue }
            try require(data.rpIDHash == Array(bytes.prefix(32)) && data.flags == bytes[32], "fields keep their places")
            guard let credential = data.credential else { continue }
            try require(
                credential.publicKeyX963.count == 65 && credential.credentialID.count == 32
                    && bytes.contains(credential.credentialID) && bytes.contains(credential.publicKeyX963[1..<33]),
                "a credential has its sizes, and stands in the data")
        }
    },
    FuzzTarget("assertion") { bytes in
        if let object = try? AssertionObject(bytes) {
            try require(
                bytes.contains(object.signature) && bytes.contains(object.authenticatorData),
                "the parts of an object stand in it")
        }
        let verified = try? AssertionVerifier().verify(
            assertion: bytes, clientDataHash: AttestSample.clientDataHash,
            publicKeyX963: AttestSample.publicKeyX963, app: AttestSample.app, previousCounter: 0)
        guard let verified else { return }
        try require(verified.counter == AttestSample.counter, "only what the device has signed is verified")
    },
    FuzzTarget("signature") { bytes in
        let known = try? P256.Signing.ECDSASignature(derRepresentation: bytes)
        guard let raw = SignatureDER.rawRepresentation(of: bytes) else { return }
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: raw)
        try require(signature.derRepresentation.elementsEqual(bytes), "a signature has one encoding")
        try require(known?.rawRepresentation == signature.rawRepresentation, "swift-crypto reads the same numbers")
    },
    // Two bytes for the leaf's length, the leaf, the intermediate.
    FuzzTarget(
        "certificate-chain",
        awaiting: { bytes in
            guard bytes.count > 2 else { return }
            let length = min(Int(bytes[0]) << 8 | Int(bytes[1]), bytes.count - 2)
            let (leaf, intermediate) = (Array(bytes[2..<2 + length]), Array(bytes[(2 + length)...]))
            let root = AttestSample.root
            guard let chain = try? CertificateChain(leaf: leaf, intermediate: intermediate, root: root) else { return }
            try require(leaf.contains(chain.leaf.tbsCertificateBytes), "what is signed is what was sent")
            let nonce = try? NonceExtension.nonce(in: chain.leaf)
            try require(nonce.map { $0.count == 32 } ?? true, "a nonce has 32 bytes")
            guard (try? await chain.verify(at: AttestSample.time)) != nil else { return }
            try require(
                SHA256.hash(data: leaf).elementsEqual(AttestSample.leafHash),
                "only what the authority has signed is verified")
        }),
]

extension CBORItem {
    /// The encoder's form of what the decoder has read.
    fileprivate init(_ value: CBORValue) {
        switch value {
        case .unsigned(let number): self = .unsigned(number)
        case .negative(let argument): self = .negative(argument)
        case .bytes(let bytes): self = .bytes(bytes)
        case .text(let text): self = .text(text)
        case .array(let elements): self = .array(elements.map { CBORItem($0) })
        case .map(let map): self = .map(map.entries.map { (CBORItem($0.key), CBORItem($0.value)) })
        case .boolean(let value): self = .boolean(value)
        case .null: self = .null
        }
    }
}
