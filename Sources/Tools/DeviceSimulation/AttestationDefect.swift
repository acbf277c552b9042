/// The possible defects of an attestation. Each has a forgery with this defect only.
///
/// Each forgery is for a verifier that trusts the given authority and accepts the device's app in production.
package enum AttestationDefect: String, CaseIterable, Sendable {
    // Another authority.
    case otherRoot
    /// An authority with the same names as the trusted one.
    case sameNamesOtherKeys
    /// The trusted intermediate, with a leaf that another key signed in its name.
    case leafSignedByOtherKey

    // Another chain.
    case noCertificates, oneCertificate, threeCertificates
    case intermediateFirst
    /// Issued by the root itself, although the intermediate is included.
    case leafIssuedByRoot
    /// The root's own certificate in the leaf's place.
    case rootAsLeaf

    // Validity.
    case leafExpired, leafNotYetValid
    case intermediateExpired, intermediateNotYetValid

    // Permissions of a certificate.
    case intermediateNotAnAuthority
    case intermediateWithoutConstraints
    /// X.509 version 1 has no constraints: some verifiers allow such a certificate everything.
    case intermediateOfVersion1
    case intermediateMayNotSign
    case intermediateKeyOnCurve25519
    case leafIsAnAuthority
    case unknownCriticalExtensionInLeaf
    case unknownCriticalExtensionInIntermediate

    // Certificates that are not strict DER.
    case garbageAsLeaf, garbageAsIntermediate
    case trailingBytesAfterLeaf
    /// An even last byte of the signature, with one bit marked as unused.
    case leafSignatureWithUnusedBit
    /// The outer signature algorithm, which isn't signed, has parameters.
    case leafAlgorithmsDiffer

    // Names in other than ASCII, whose comparison costs quadratic time.
    case leafNameNotASCII, intermediateNameNotASCII

    // The leaf's key.
    case leafKeyOnP384
    case leafPointNotOnCurve

    // The nonce.
    case nonceExtensionMissing, nonceExtensionTwice
    case nonceExtensionInIntermediate
    case nonceExtensionOfOtherShape, nonceExtensionWithTrailingBytes
    case nonceOfOtherChallenge
    /// A hash of the authenticator data alone.
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
    /// Twenty bytes that announce 16 MiB of bytes, of array elements or of map entries.
    case hugeByteString, hugeArray, hugeMap
    case tooLarge
}
