/// The ways in which an attestation can be wrong, each with one forgery that is wrong in this way alone.
///
/// All are made for a verifier that trusts the given authority and accepts the device's app in production.
package enum AttestationDefect: String, CaseIterable, Sendable {
    // Another authority.
    case otherRoot
    /// An authority that calls itself like the trusted one.
    case sameNamesOtherKeys
    /// The trusted intermediate, and a leaf that another key signed in its name.
    case leafSignedByOtherKey

    // Another chain.
    case noCertificates, oneCertificate, threeCertificates
    case intermediateFirst
    /// Issued by the root itself, with the intermediate beside it.
    case leafIssuedByRoot
    /// The root's own certificate stands in the leaf's place.
    case rootAsLeaf

    // Validity.
    case leafExpired, leafNotYetValid
    case intermediateExpired, intermediateNotYetValid

    // What a certificate may do.
    case intermediateNotAnAuthority
    case intermediateWithoutConstraints
    /// X.509 version 1 knows no constraints: some verifiers let it do anything.
    case intermediateOfVersion1
    case intermediateMayNotSign
    case intermediateKeyOnCurve25519
    case leafIsAnAuthority
    case unknownCriticalExtensionInLeaf
    case unknownCriticalExtensionInIntermediate

    // Certificates that are not strict DER.
    case garbageAsLeaf, garbageAsIntermediate
    case trailingBytesAfterLeaf
    /// The last byte of the signature, where it is even, with one bit marked as unused.
    case leafSignatureWithUnusedBit
    /// The outer signature algorithm, which nothing signs, has parameters.
    case leafAlgorithmsDiffer

    // The leaf's key.
    case leafKeyOnP384
    case leafPointNotOnCurve

    // The nonce.
    case nonceExtensionMissing, nonceExtensionTwice
    case nonceExtensionInIntermediate
    case nonceExtensionOfOtherShape, nonceExtensionWithTrailingBytes
    case nonceOfOtherChallenge
    /// The hash of the authenticator data alone.
    case nonceWithoutClientData

    // The key identifier.
    case keyIDOfOtherKey

    // The authenticator data.
    case bareBundleRPIDHash, otherTeamRPIDHash
    case counterNotZero
    case developmentAAGUID, sandboxAAGUID, unknownAAGUID
    case credentialIDOfOtherKey
    case credentialIDTooShort, credentialIDLengthBeyondEnd
    case coseKeyOfOtherKey, coseKeyNotOnCurve, coseKeyOfOtherAlgorithm, coseKeyWithMoreEntries
    case authenticatorDataTruncated
    case authenticatorDataWithTrailingByte
    case extensionsNotAMap, extensionsWithDuplicateKey, extensionsFollowedByMore
    case validationCategoryOfFiveBytes, validationCategoryAboveUInt32

    // The object.
    case otherFormat
    case authenticatorDataMissing, statementMissing, chainMissing
    case unknownField, unknownStatementField
    case chainOfTexts
    case empty, truncated, trailingBytes
    case duplicateField
    case indefiniteMap, indefiniteBytes
    case nonMinimalLength, reservedLength
    case invalidUTF8, tag, floatingPoint, bytesAsKey
    case nestedThousandDeep
    /// Twenty bytes that announce 16 MiB: of bytes, of array elements, of map entries.
    case hugeByteString, hugeArray, hugeMap
    case tooLarge
}
