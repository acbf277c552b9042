/// Why bytes are not the strict CBOR that App Attest writes (RFC 8949; the rules of section 4.2.1 but for key order).
public enum CBORError: Error, Hashable, Sendable {
    /// The input is longer than the limit for its kind.
    case tooLarge
    /// The input ends inside an item, or an item announces more than is left.
    case truncated
    /// Bytes follow the item.
    case trailingBytes
    /// Arrays and maps are nested deeper than ``CBORLimits/maximumDepth``.
    case tooDeep
    /// More items than ``CBORLimits/maximumItems``.
    case tooManyItems
    /// A length of 31: indefinite, or a break.
    case indefiniteLength
    /// A number or length written longer than it needs to be.
    case nonMinimalHead
    /// Additional information 28 to 30, which RFC 8949 reserves.
    case reservedHead
    /// Two equal keys in one map.
    case duplicateKey
    /// A map key that is neither text nor integer.
    case unsupportedKey
    /// A text that is not UTF-8.
    case invalidUTF8
    /// A tag, a floating point number or a simple value other than true, false and null.
    case unsupportedType
}

/// What the decoder accepts at most. Apple's largest attestation seen so far has 5,906 bytes, depth 3 and 10 items.
public enum CBORLimits {
    /// Bytes of an attestation object.
    public static let maximumAttestationBytes = 16 * 1024
    /// Bytes of an assertion object: a signature of 72 bytes and authenticator data of 37 to 153 were seen.
    public static let maximumAssertionBytes = 4 * 1024
    /// Arrays and maps inside each other, the outermost counted.
    public static let maximumDepth = 8
    /// Items in one document, keys and containers counted.
    public static let maximumItems = 256
}
