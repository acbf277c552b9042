/// The signature algorithms that are verified, by their COSE identifiers (IANA's registry; RFC 9053 section 2, RFC 8812
/// section 2).
public enum CredentialAlgorithm: Int64, Hashable, Sendable, CaseIterable {
    /// ECDSA with SHA-256, here always on P-256 (Web Authentication Level 3, section 5.8.5).
    case es256 = -7
    /// EdDSA, here always Ed25519.
    case edDSA = -8
    /// ECDSA with SHA-384, here always on P-384.
    case es384 = -35
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    case rs256 = -257
}
