import Crypto
import StrictDER
import X509

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Verifies attestation objects by the steps of Apple's "Validating Apps That Connect to Your Server", in the same
/// order, with one function for each step. It reads no clock, keeps no state and does no I/O.
///
/// ```swift
/// // Once:
/// guard let app = AppID("A1B2C3D4E5.com.example.game") else { … }
/// let verifier = AttestationVerifier(trustRoot: .apple, policy: AttestationPolicy(apps: [app]))
///
/// // For every registration, with a fresh challenge of yours:
/// let hash = Array(SHA256.hash(data: challenge))
/// let key = try await verifier.verify(attestation: object, keyID: keyID, clientDataHash: hash, at: Date())
/// store(key.keyID, key.publicKeyX963, key.app, counter: 0)
///
/// // For every assertion of that key, with another fresh challenge of yours:
/// let assertion = try AssertionVerifier().verify(
///     assertion: object, clientDataHash: hash, publicKeyX963: key.publicKeyX963, app: key.app,
///     previousCounter: stored.counter)
/// store(counter: assertion.counter)  // Compare and set: only if it is still above the stored one.
/// ```
///
/// The caller must ensure that the challenge is the server's own, fresh and unused.
public struct AttestationVerifier: Sendable {
    let trustRoot: TrustRoot
    let policy: AttestationPolicy

    public init(trustRoot: TrustRoot, policy: AttestationPolicy) {
        self.trustRoot = trustRoot
        self.policy = policy
    }

    /// - Parameters:
    ///   - attestation: the CBOR from `DCAppAttestService.attestKey`, at most ``CBORLimits/maximumAttestationBytes``.
    ///   - keyID: the key identifier that the device sent along, decoded: 32 bytes.
    ///   - clientDataHash: the bytes that the app passed to `attestKey`: SHA-256 of the challenge.
    ///   - time: the time at which the certificates must be valid. A leaf is valid for only a few days.
    /// - Throws: the first defect found in the attestation.
    public func verify(
        attestation: [UInt8], keyID: [UInt8], clientDataHash: [UInt8], at time: Date
    ) async throws(AttestationError) -> VerifiedAttestation {
        let object = try AttestationObject(attestation)
        let leaf = try await verifyCertificates(of: object, at: time)
        let clientData = composeClientData(object.authenticatorData, clientDataHash)
        let nonce = hashNonce(clientData)
        try verifyNonce(nonce, in: leaf)
        let publicKey = try verifyKeyID(keyID, isHashOfKeyIn: leaf)
        // From here on Apple's certificate vouches for the authenticator data.
        let (data, credential) = try parse(object.authenticatorData)
        let app = try verifyRPIDHash(data)
        try verifyCounter(data)
        let environment = try verifyEnvironment(credential)
        try verifyCredentialID(credential, is: keyID)
        try verifyCredentialKey(credential, is: publicKey)
        try verifyValidationCategory(data)
        return VerifiedAttestation(
            keyID: keyID, publicKeyX963: publicKey, app: app, environment: environment, receipt: object.receipt,
            validationCategory: data.extensions.validationCategory, bundleVersion: data.extensions.bundleVersion,
            trustRootFingerprint: trustRoot.fingerprint)
    }
}

// Apple's steps, in its order and with its numbers.
extension AttestationVerifier {
    /// 1. "Verify that the x5c array contains the intermediate and leaf certificates for App Attest …"
    private func verifyCertificates(
        of object: AttestationObject, at time: Date
    ) async throws(AttestationError) -> Certificate {
        let chain = try CertificateChain(leaf: object.leaf, intermediate: object.intermediate, root: trustRoot)
        try await chain.verify(at: time)
        return chain.leaf
    }

    /// 2. "… append that hash to the end of the authenticator data."
    private func composeClientData(_ authenticatorData: [UInt8], _ clientDataHash: [UInt8]) -> [UInt8] {
        authenticatorData + clientDataHash
    }

    /// 3. "Generate a new SHA256 hash of the composite item to create nonce."
    private func hashNonce(_ composite: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: composite)) }

    /// 4. "Obtain the value of the credCert extension with OID 1.2.840.113635.100.8.2 … Verify that the string equals
    /// nonce."
    private func verifyNonce(_ nonce: [UInt8], in leaf: Certificate) throws(AttestationError) {
        let found: [UInt8]
        do { found = try NonceExtension.nonce(in: leaf) } catch {
            switch error {
            case .missing: throw .nonceExtensionMissing
            case .malformed: throw .nonceExtensionMalformed
            }
        }
        guard found == nonce else { throw .nonceMismatch }
    }

    /// 5. "Create the SHA256 hash of the public key in credCert with X9.62 uncompressed point format, and verify that
    /// it matches the key identifier from your app."
    private func verifyKeyID(
        _ keyID: [UInt8], isHashOfKeyIn leaf: Certificate
    ) throws(AttestationError) -> [UInt8] {
        guard let key = P256.Signing.PublicKey(leaf.publicKey) else { throw .leafKeyNotP256 }
        let publicKey = Array(key.x963Representation)
        guard Array(SHA256.hash(data: publicKey)) == keyID else { throw .keyIDMismatch }
        return publicKey
    }

    private func parse(
        _ bytes: [UInt8]
    ) throws(AttestationError) -> (data: AuthenticatorData, credential: AttestedCredential) {
        let data: AuthenticatorData
        do { data = try AuthenticatorData(attestation: bytes) } catch { throw .malformedAuthenticatorData(error) }
        guard let credential = data.credential else { throw .malformedAuthenticatorData(.truncated) }
        return (data, credential)
    }

    /// 6. "Compute the SHA256 hash of your app's App ID, and verify that it's the same as the authenticator data's RP
    /// ID hash."
    private func verifyRPIDHash(_ data: AuthenticatorData) throws(AttestationError) -> AppID {
        guard let app = policy.apps.first(where: { $0.rpIDHash == data.rpIDHash }) else { throw .rpIDHashMismatch }
        return app
    }

    /// 7. "Verify that the authenticator data's counter field equals 0."
    private func verifyCounter(_ data: AuthenticatorData) throws(AttestationError) {
        guard data.counter == 0 else { throw .counterNotZero(data.counter) }
    }

    /// 8. "Verify that the authenticator data's aaguid field is either appattestdevelop … or appattest followed by
    /// seven 0x00 bytes …"
    private func verifyEnvironment(
        _ credential: AttestedCredential
    ) throws(AttestationError) -> AttestationEnvironment {
        guard let environment = AttestationEnvironment(aaguid: credential.aaguid) else { throw .unknownEnvironment }
        guard policy.environments.contains(environment) else { throw .environmentNotAllowed(environment) }
        return environment
    }

    /// 9. "Verify that the authenticator data's credentialId field is the same as the key identifier."
    private func verifyCredentialID(
        _ credential: AttestedCredential, is keyID: [UInt8]
    ) throws(AttestationError) {
        guard credential.credentialID == keyID else { throw .credentialIDMismatch }
    }

    /// Not one of Apple's steps: the key beside the credential identifier is the leaf's.
    private func verifyCredentialKey(
        _ credential: AttestedCredential, is publicKey: [UInt8]
    ) throws(AttestationError) {
        guard credential.publicKeyX963 == publicKey else { throw .credentialKeyMismatch }
    }

    /// Not one of Apple's steps: the policy on iOS 27's validation category.
    private func verifyValidationCategory(_ data: AuthenticatorData) throws(AttestationError) {
        guard let allowed = policy.validationCategories else { return }
        guard let category = data.extensions.validationCategory else { throw .validationCategoryMissing }
        guard allowed.contains(category) else { throw .validationCategoryNotAllowed(category) }
    }
}

/// A key that, by Apple's attestation, is in the Secure Enclave of a genuine device, for one of the policy's apps. Only
/// ``AttestationVerifier`` can create one, so the value itself is the proof.
public struct VerifiedAttestation: Hashable, Sendable {
    /// SHA-256 of the public key: 32 bytes. The device uses it, in base64, as the key's identifier.
    public let keyID: [UInt8]
    /// The public key: 65 bytes, uncompressed X9.63. Store it to verify assertions.
    public let publicKeyX963: [UInt8]
    /// The app that attested. Store it to accept assertions only for this app.
    public let app: AppID
    public let environment: AttestationEnvironment
    /// Apple's receipt, as received and not verified; empty if there is none. Usable only for the fraud metric.
    public let receipt: [UInt8]
    /// From iOS 27 and macOS 27: how the app was signed and distributed. See
    /// ``AttestationPolicy/validationCategories``.
    public let validationCategory: UInt32?
    /// From iOS 27 and macOS 27: the app's `CFBundleVersion`.
    public let bundleVersion: String?
    /// SHA-256 over the DER of the chain's root: 32 bytes.
    public let trustRootFingerprint: [UInt8]
}
