/// The possible defects of an assertion. Each has a forgery with this defect only.
///
/// Each forgery is for a verifier that knows the device's key and app and has stored the forgery's `previousCounter`.
package enum AssertionDefect: String, CaseIterable, Sendable {
    // The signature.
    case otherKey
    /// The nonce is signed as a digest, without being hashed again.
    case bareNonce
    case otherChallenge
    /// Signed over the authenticator data alone.
    case withoutClientData
    case authenticatorDataChangedAfterwards
    case emptySignature
    /// r and s without DER encoding.
    case rawSignature
    case signatureWithTrailingByte
    /// One DER length in two bytes, where one is enough.
    case signatureNotDER

    // The authenticator data.
    case otherApp, bareBundleRPIDHash
    case counterZero, counterEqual, counterLower
    /// The counter has wrapped from 4,294,967,295 to 0.
    case counterWrapped
    case authenticatorDataTruncated
    case authenticatorDataWithTrailingByte
    case extensionsNotAMap, extensionsWithDuplicateKey, extensionsFollowedByMore

    // The object.
    case signatureMissing, authenticatorDataMissing, unknownField, duplicateField
    case notAMap
    case empty, truncated, trailingBytes
    case indefiniteMap, nonMinimalLength
    case nestedThousandDeep, hugeByteString, tooLarge
}
