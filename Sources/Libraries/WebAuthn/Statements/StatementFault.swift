/// The fields of attestation statements that are read.
public enum StatementField: String, Hashable, Sendable, CaseIterable {
    case alg, sig, x5c
}

/// The parts of a subject that section 8.2.1 requires.
public enum SubjectPart: String, Hashable, Sendable, CaseIterable {
    case country = "C"
    case organization = "O"
    case organizationalUnit = "OU"
    case commonName = "CN"
}

/// Why an attestation statement isn't correct (Web Authentication Level 3, section 8). It contains nothing that the
/// client sent but numbers. Certificates are counted from 0, the attestation certificate.
public enum StatementFault: Error, Hashable, Sendable {
    // The statement.

    /// Not a map.
    case notAMap
    /// A statement of the format `none` that isn't empty (section 8.7).
    case notEmpty
    /// A field is missing, or has another type.
    case unreadableField(StatementField)
    /// A field that isn't part of the format.
    case unknownField
    /// `x5c` has no certificate, more than ``WebAuthnLimits/maximumCertificates``, or with `fido-u2f` more than one.
    case certificateCount(Int)

    // Its certificates.

    /// Not a certificate in strict DER, its algorithm or key can't be read (including a point off the curve), or its
    /// names are too long.
    case malformedCertificate(Int)
    /// The certificate has one extension twice (RFC 5280, section 4.2).
    case duplicateExtension(Int)
    /// An RSA key with more bits than ``WebAuthnLimits/maximumModulusBits``.
    case modulus(Int, bits: Int)

    // Its signature.

    /// `alg` is none of ``CredentialAlgorithm``.
    case algorithmNotSupported(Int64)
    /// `alg` isn't the algorithm of the key that it is signed with.
    case algorithmMismatch
    /// The signature doesn't have its algorithm's form.
    case malformedSignature
    /// The signature was not made by this key over this authenticator data and client data.
    case signatureMismatch

    // packed (section 8.2).

    /// The attestation certificate isn't of version 3 (section 8.2.1).
    case certificateVersion
    /// The part of the subject is missing, comes twice, or isn't as section 8.2.1 says.
    case certificateSubject(SubjectPart)
    /// The basic constraints are missing, or make the attestation certificate an authority (section 8.2.1).
    case certificateConstraints
    /// The extension id-fido-gen-ce-aaguid isn't an octet string of 16 bytes, or is critical (section 8.2.1).
    case aaguidExtensionMalformed
    /// That extension has another AAGUID than the authenticator data (section 8.2).
    case aaguidMismatch

    // apple (section 8.8).

    /// The attestation certificate has no extension 1.2.840.113635.100.8.2.
    case nonceExtensionMissing
    /// That extension doesn't have Apple's structure.
    case nonceExtensionMalformed
    /// The nonce isn't the hash of the authenticator data and the client data hash.
    case nonceMismatch

    // apple and android-key (section 8.4).

    /// The attestation certificate's key isn't the credential's.
    case credentialKeyMismatch

    // android-key.

    /// The attestation certificate has no key description.
    case keyDescriptionMissing
    /// The key description doesn't have Android's structure.
    case keyDescriptionMalformed
    /// The challenge in the key description isn't the client data hash.
    case attestationChallengeMismatch
    /// All apps of the device may use the key.
    case keyOfAllApplications
    /// The key wasn't generated on the device.
    case keyNotGenerated
    /// The key has another purpose than signing.
    case keyNotForSigning

    // fido-u2f (section 8.6).

    /// The attestation certificate's key isn't on P-256.
    case certificateKeyNotP256
    /// The credential's key isn't on P-256.
    case credentialKeyNotP256
}
