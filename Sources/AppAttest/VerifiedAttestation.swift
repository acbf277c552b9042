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
    /// From iOS 27 and macOS 27: how the app was signed and distributed. See ``AttestationPolicy/validationCategories``.
    public let validationCategory: UInt32?
    /// From iOS 27 and macOS 27: the app's `CFBundleVersion`.
    public let bundleVersion: String?
    /// SHA-256 over the DER of the chain's root: 32 bytes.
    public let trustRootFingerprint: [UInt8]
}
