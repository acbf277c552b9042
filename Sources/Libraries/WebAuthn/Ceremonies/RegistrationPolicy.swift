public import X509

/// Which registrations are accepted.
public struct RegistrationPolicy: Sendable {
    /// Those of `pubKeyCredParams` in the options. An empty list accepts nothing.
    public var algorithms: [CredentialAlgorithm]
    /// Whether the authenticator must verify the user, with a PIN or by biometrics.
    public var requiresUserVerification: Bool
    public var attestation: AttestationRequirement
    /// The trust anchors of each format: root certificates, or attestation certificates themselves.
    ///
    /// They are kept apart because formats differ in what a certificate vouches for. The key in an Android key
    /// attestation signs whatever its app wants, so it could make a statement of `fido-u2f` if Android's root counted
    /// for that format, too.
    public var anchors: [AttestationFormat: [Certificate]]

    public init(
        algorithms: [CredentialAlgorithm] = [.es256, .edDSA, .es384, .rs256], requiresUserVerification: Bool = true,
        attestation: AttestationRequirement = .none, anchors: [AttestationFormat: [Certificate]] = [:]
    ) {
        (self.algorithms, self.requiresUserVerification) = (algorithms, requiresUserVerification)
        (self.attestation, self.anchors) = (attestation, anchors)
    }
}

/// What a registration must prove about its authenticator.
public enum AttestationRequirement: String, Hashable, Sendable, CaseIterable {
    /// Nothing. A statement that is present must be correct, though, if its format is one of ``AttestationFormat``.
    case none
    /// Its model: the statement must lead to one of the anchors. Android keys must be in hardware.
    case required
}

/// The attestation statement formats that are verified, other than `none` (Web Authentication Level 3, section 8).
public enum AttestationFormat: String, Hashable, Sendable, CaseIterable {
    case packed, apple
    case androidKey = "android-key"
    case fidoU2F = "fido-u2f"
}

/// What a registration has proved about its authenticator.
public enum CredentialAttestation: Hashable, Sendable {
    /// There is no statement.
    case none
    /// The credential has signed for itself (`packed` without certificates).
    case selfSigned
    /// A statement of another format (`tpm` for instance), which wasn't verified.
    case unverified
    /// A correct statement that leads to none of the anchors.
    case untrusted(AttestationFormat, TrustFault)
    /// A correct statement that leads to an anchor: SHA-256 over that certificate's DER.
    case trusted(AttestationFormat, anchor: [UInt8])

    /// Whether an anchor vouches for the authenticator.
    public var isTrusted: Bool { fault == nil }

    /// Why none does.
    public var fault: TrustFault? {
        switch self {
        case .none: .noStatement
        case .selfSigned: .selfSigned
        case .unverified: .formatNotVerified
        case .untrusted(_, let fault): fault
        case .trusted: nil
        }
    }
}
