/// A key that Apple attests to live in the Secure Enclave of a genuine device, for one of the policy's apps. Only
/// ``AttestationVerifier`` can make one: whoever holds it holds the proof.
public struct VerifiedAttestation: Hashable, Sendable {
    /// SHA-256 of the public key: 32 bytes. The device's name for the key, in base64 there.
    public let keyID: [UInt8]
    /// The public key: 65 bytes, uncompressed X9.63. Keep it, to verify assertions with.
    public let publicKeyX963: [UInt8]
    /// The app that attested. Keep it, to verify assertions for this app alone.
    public let app: AppID
    public let environment: AttestationEnvironment
    /// Apple's receipt, as received and not verified; empty when there is none. Good for the fraud metric only.
    public let receipt: [UInt8]
    /// iOS 27 and macOS 27 on: how the app was signed and distributed. See ``AttestationPolicy/validationCategories``.
    public let validationCategory: UInt32?
    /// iOS 27 and macOS 27 on: the app's `CFBundleVersion`.
    public let bundleVersion: String?
    /// SHA-256 over the DER of the root that the chain ended in: 32 bytes.
    public let trustRootFingerprint: [UInt8]
}
