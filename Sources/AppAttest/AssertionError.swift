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
