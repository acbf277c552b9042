/// A certificate's position in the chain of an attestation.
public enum ChainPosition: Hashable, Sendable, CaseIterable {
    /// The credential certificate, first in `x5c`.
    case leaf
    /// The intermediate certificate authority, second in `x5c`.
    case intermediate
    /// The configured trust root.
    case root
}

/// The fields of an attestation object.
public enum AttestationField: String, Hashable, Sendable, CaseIterable {
    case fmt, attStmt, x5c, receipt, authData
}

/// The first defect found in an attestation. It contains nothing secret.
public enum AttestationError: Error, Hashable, Sendable {
    // The object.

    /// The attestation is not strict CBOR.
    case malformedObject(CBORError)
    /// The attestation is CBOR, but not a map.
    case notAMap
    /// A field is missing or has another type.
    case unreadableField(AttestationField)
    /// A field that isn't part of App Attest.
    case unknownField
    /// `fmt` is not `apple-appattest`.
    case unknownFormat

    // Step 1.

    /// `x5c` doesn't contain exactly two certificates.
    case certificateCount(Int)
    /// Not a certificate in strict DER, or its algorithm or key can't be read (including a point off the curve).
    case malformedCertificate(ChainPosition)
    /// The certificate has one extension twice (RFC 5280, section 4.2).
    case duplicateExtension(ChainPosition)
    /// The certificate has an unknown critical extension (RFC 5280, section 4.2).
    case unknownCriticalExtension(ChainPosition)
    /// The certificate's validity ended before the given time.
    case certificateExpired(ChainPosition)
    /// The certificate's validity begins after the given time.
    case certificateNotYetValid(ChainPosition)
    /// The intermediate may not issue certificates (RFC 5280, sections 4.2.1.3 and 4.2.1.9, and 6.1.4 (k) and (n)).
    case intermediateNotCertificateAuthority
    /// The leaf is a certificate authority.
    case leafIsCertificateAuthority
    /// The intermediate's key is not on P-256 or P-384.
    case intermediateKeyNotECDSA
    /// No chain of signatures leads from the leaf through the intermediate to the trust root.
    case untrustedChain
    /// The leaf's key is not on P-256.
    case leafKeyNotP256

    // Steps 2 to 4.

    /// The leaf has no extension 1.2.840.113635.100.8.2.
    case nonceExtensionMissing
    /// That extension doesn't have Apple's structure.
    case nonceExtensionMalformed
    /// The nonce in the leaf doesn't match the authenticator data and the client data hash.
    case nonceMismatch

    // Step 5.

    /// The hash of the leaf's public key is not the key identifier.
    case keyIDMismatch

    // Steps 6 to 9, and the key.

    /// The authenticator data does not have its fixed layout.
    case malformedAuthenticatorData(AuthenticatorDataError)
    /// The attestation is not for any of the policy's apps.
    case rpIDHashMismatch
    /// The counter of a fresh key is not zero.
    case counterNotZero(UInt32)
    /// The aaguid is not one of App Attest's.
    case unknownEnvironment
    /// The aaguid is one of App Attest's, but the policy doesn't accept it.
    case environmentNotAllowed(AttestationEnvironment)
    /// The credential identifier is not the key identifier.
    case credentialIDMismatch
    /// The key in the authenticator data is not the leaf's.
    case credentialKeyMismatch
    /// The policy requires a validation category, and the attestation has none.
    case validationCategoryMissing
    /// The policy doesn't accept the validation category.
    case validationCategoryNotAllowed(UInt32)
}
