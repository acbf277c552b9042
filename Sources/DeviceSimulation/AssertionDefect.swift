/// The ways in which an assertion can be wrong, each with one forgery that is wrong in this way alone.
///
/// All are made for a verifier that knows the device's key and app and has `previousCounter` of the forgery stored.
package enum AssertionDefect: String, CaseIterable, Sendable {
    // The signature.
    case otherKey
    /// The nonce is taken for a digest and signed without being hashed again.
    case bareNonce
    case otherChallenge
    /// Over the authenticator data alone.
    case withoutClientData
    case authenticatorDataChangedAfterwards
    case emptySignature
    /// r and s without DER around them.
    case rawSignature
    case signatureWithTrailingByte
    /// One length of the DER written in two bytes where one is enough.
    case signatureNotDER

    // The authenticator data.
    case otherApp, bareBundleRPIDHash
    case counterZero, counterEqual, counterLower
    /// After 4,294,967,295 comes 0.
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
