/// Why nothing vouches for the authenticator of a registration (Web Authentication Level 3, §7.1 step 24). Certificates
/// are counted from 0, the attestation certificate.
public enum TrustFault: Error, Hashable, Sendable {
    /// There is no attestation statement.
    case noStatement
    /// The credential has signed for itself.
    case selfSigned
    /// Statements of this format aren't verified.
    case formatNotVerified
    /// The policy has no trust anchor for this format.
    case noAnchor
    /// The key of an Android device isn't enforced by its hardware.
    case keyNotInHardware
    /// No chain of signatures leads from the attestation certificate through all the others to a trust anchor.
    case untrustedChain
    /// The certificate has an unknown critical extension (RFC 5280, section 4.2).
    case unknownCriticalExtension(Int)
    /// The certificate's validity ended before the given time.
    case certificateExpired(Int)
    /// The certificate's validity begins after the given time.
    case certificateNotYetValid(Int)
    /// The certificate may not issue others (RFC 5280, sections 4.2.1.3 and 4.2.1.9, and 6.1.4 (k) and (n)).
    case notCertificateAuthority(Int)
    /// The attestation certificate is an authority, and no anchor itself.
    case leafIsCertificateAuthority
    /// The certificate is signed with SHA-1.
    case weakSignature(Int)
}
