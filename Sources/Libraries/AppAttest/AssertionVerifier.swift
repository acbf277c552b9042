import CBOR
import Crypto
import StrictDER

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Verifies assertion objects by the steps of Apple's "Validating Apps That Connect to Your Server", in the same order,
/// with one function for each step. It reads no clock, keeps no state and does no I/O.
///
/// Apple's steps 1 and 6, hashing the client data and checking that it contains a fresh challenge, are the caller's
/// responsibility: only the caller knows the client data.
public struct AssertionVerifier: Sendable {
    let validationCategories: Set<UInt32>?

    /// - Parameter validationCategories: as ``AttestationPolicy/validationCategories``; nil ignores them.
    public init(validationCategories: Set<UInt32>? = nil) {
        self.validationCategories = validationCategories
    }

    /// - Parameters:
    ///   - assertion: the CBOR from `DCAppAttestService.generateAssertion`, at most
    ///     ``CBORLimits/maximumAssertionBytes``.
    ///   - clientDataHash: the bytes that the app passed to `generateAssertion`: SHA-256 of the client data.
    ///   - publicKeyX963: the key from its ``VerifiedAttestation``.
    ///   - app: the app from the same attestation.
    ///   - previousCounter: the counter of the key's last assertion; 0 if there was none.
    /// - Throws: the first defect found in the assertion.
    public func verify(
        assertion: [UInt8], clientDataHash: [UInt8], publicKeyX963: [UInt8], app: AppID, previousCounter: UInt32
    ) throws(AssertionError) -> VerifiedAssertion {
        let object = try AssertionObject(assertion)
        let nonce = hashNonce(object.authenticatorData, clientDataHash)
        try verifySignature(object.signature, over: nonce, by: publicKeyX963)
        // From here on the authenticator data is verified to be what the key signed.
        let data = try parse(object.authenticatorData)
        try verifyRPIDHash(data, is: app)
        try verifyCounter(data, isAbove: previousCounter)
        try verifyValidationCategory(data)
        return VerifiedAssertion(
            counter: data.counter, validationCategory: data.extensions.validationCategory,
            bundleVersion: data.extensions.bundleVersion)
    }
}

// Apple's steps, in its order and with its numbers.
extension AssertionVerifier {
    /// 2. "Concatenate authenticatorData and clientDataHash, and apply a SHA256 hash over the result to form nonce."
    private func hashNonce(_ authenticatorData: [UInt8], _ clientDataHash: [UInt8]) -> [UInt8] {
        Array(SHA256.hash(data: authenticatorData + clientDataHash))
    }

    /// 3. "Use the public key that you store from the attestation object to verify that the assertion's signature is
    /// valid for nonce."
    ///
    /// The nonce is the message: ECDSA with SHA-256 hashes it once more. A high S is common and accepted; other
    /// encodings of the same signature are not.
    private func verifySignature(
        _ bytes: [UInt8], over nonce: [UInt8], by publicKeyX963: [UInt8]
    ) throws(AssertionError) {
        let key: P256.Signing.PublicKey
        do { key = try P256.Signing.PublicKey(x963Representation: publicKeyX963) } catch { throw .invalidPublicKey }
        guard let raw = SignatureDER.rawRepresentation(of: bytes) else { throw .malformedSignature }
        let signature: P256.Signing.ECDSASignature
        do { signature = try P256.Signing.ECDSASignature(rawRepresentation: raw) } catch { throw .malformedSignature }
        guard key.isValidSignature(signature, for: nonce) else { throw .signatureMismatch }
    }

    private func parse(_ bytes: [UInt8]) throws(AssertionError) -> AuthenticatorData {
        do { return try AuthenticatorData(assertion: bytes) } catch { throw .malformedAuthenticatorData(error) }
    }

    /// 4. "Compute the SHA256 hash of the client's App ID, and verify that it matches the RP ID in the authenticator
    ///    data."
    private func verifyRPIDHash(_ data: AuthenticatorData, is app: AppID) throws(AssertionError) {
        guard data.rpIDHash == app.rpIDHash else { throw .rpIDHashMismatch }
    }

    /// 5. "Verify that the authenticator data's counter value is greater than the value from the previous assertion, or
    /// greater than 0 on the first assertion."
    private func verifyCounter(_ data: AuthenticatorData, isAbove previous: UInt32) throws(AssertionError) {
        guard data.counter > previous else {
            throw .counterNotHigher(received: data.counter, previous: previous)
        }
    }

    /// Not one of Apple's steps: the policy on iOS 27's validation category.
    private func verifyValidationCategory(_ data: AuthenticatorData) throws(AssertionError) {
        guard let allowed = validationCategories else { return }
        guard let category = data.extensions.validationCategory else { throw .validationCategoryMissing }
        guard allowed.contains(category) else { throw .validationCategoryNotAllowed(category) }
    }
}

/// A parsed but unverified assertion object: `{"signature": bytes, "authenticatorData": bytes}`.
package struct AssertionObject: Hashable, Sendable {
    /// An ECDSA signature in DER.
    package let signature: [UInt8]
    /// The bytes as received.
    package let authenticatorData: [UInt8]

    /// - Parameter bytes: CBOR, at most ``CBORLimits/maximumAssertionBytes``.
    package init(_ bytes: [UInt8]) throws(AssertionError) {
        let value: CBORValue
        do {
            value = try CBORDecoder.decode(bytes, maximumBytes: CBORLimits.maximumAssertionBytes)
        } catch { throw .malformedObject(error) }
        guard case .map(let object) = value else { throw .notAMap }
        guard object.hasOnly("signature", "authenticatorData") else { throw .unknownField }
        guard let signature = object["signature"]?.bytes else { throw .unreadableField(.signature) }
        guard let authenticatorData = object["authenticatorData"]?.bytes else {
            throw .unreadableField(.authenticatorData)
        }
        self.signature = signature
        self.authenticatorData = authenticatorData
    }
}

/// An attested key's verified signature over client data. Only ``AssertionVerifier`` can create one.
public struct VerifiedAssertion: Hashable, Sendable {
    /// Higher than the previous one. Store it before acting on the assertion; otherwise the same assertion can be
    /// replayed.
    public let counter: UInt32
    /// From iOS 27 and macOS 27: how the app was signed and distributed. See
    /// ``AttestationPolicy/validationCategories``.
    public let validationCategory: UInt32?
    /// From iOS 27 and macOS 27: the app's `CFBundleVersion`.
    public let bundleVersion: String?
}

/// The fields of an assertion object.
public enum AssertionField: String, Hashable, Sendable, CaseIterable {
    case signature, authenticatorData
}

/// The first defect found in an assertion. It contains nothing secret.
public enum AssertionError: Error, Hashable, Sendable {
    /// The assertion is not strict CBOR.
    case malformedObject(CBORError)
    /// The assertion is CBOR, but not a map.
    case notAMap
    /// A field is missing or has another type.
    case unreadableField(AssertionField)
    /// A field that isn't part of App Attest.
    case unknownField
    /// The stored public key is not a point of P-256 in uncompressed X9.63 form.
    case invalidPublicKey
    /// The signature is not an ECDSA signature in strict DER.
    case malformedSignature
    /// The signature was not made by this key over this authenticator data and client data (step 3).
    case signatureMismatch
    /// The authenticator data does not have its fixed layout.
    case malformedAuthenticatorData(AuthenticatorDataError)
    /// The assertion is for another app (step 4).
    case rpIDHashMismatch
    /// The counter is not above the last one seen (step 5).
    case counterNotHigher(received: UInt32, previous: UInt32)
    /// A validation category is required, and the assertion has none.
    case validationCategoryMissing
    /// The validation category is not one of those required.
    case validationCategoryNotAllowed(UInt32)
}
