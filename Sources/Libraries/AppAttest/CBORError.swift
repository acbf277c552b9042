package import CBOR

/// Why bytes are not strict CBOR as App Attest writes it (RFC 8949; the rules of section 4.2.1 except key order).
public enum CBORError: Error, Hashable, Sendable {
    /// The input is longer than the limit for its kind.
    case tooLarge
    /// The input ends inside an item, or an item announces more bytes than are left.
    case truncated
    /// Bytes follow the item.
    case trailingBytes
    /// Arrays and maps are nested deeper than ``CBORLimits/maximumDepth``.
    case tooDeep
    /// More items than ``CBORLimits/maximumItems``.
    case tooManyItems
    /// Additional information 31: an indefinite length or a break.
    case indefiniteLength
    /// A number or length in a longer form than necessary.
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

extension CBORError {
    init(_ fault: CBORFault) {
        self =
            switch fault {
            case .tooLarge: .tooLarge
            case .truncated: .truncated
            case .trailingBytes: .trailingBytes
            case .tooDeep: .tooDeep
            case .tooManyItems: .tooManyItems
            case .indefiniteLength: .indefiniteLength
            case .nonMinimalHead: .nonMinimalHead
            case .reservedHead: .reservedHead
            case .duplicateKey: .duplicateKey
            case .unsupportedKey: .unsupportedKey
            case .invalidUTF8: .invalidUTF8
            case .unsupportedType: .unsupportedType
            }
    }
}

/// The decoder's limits. Apple's largest attestation seen so far has 5,906 bytes, depth 3 and 10 items.
public enum CBORLimits {
    /// Bytes of an attestation object.
    public static let maximumAttestationBytes = 16 * 1024
    /// Bytes of an assertion object: observed are a signature of 72 bytes and authenticator data of 37 to 153.
    public static let maximumAssertionBytes = 4 * 1024
    /// The nesting depth of arrays and maps, including the outermost.
    public static let maximumDepth = 8
    /// Items in one document, including keys and containers.
    public static let maximumItems = 256
}

extension CBORDecoder {
    private static let bounds = CBORBounds(
        maximumDepth: CBORLimits.maximumDepth, maximumItems: CBORLimits.maximumItems)

    /// Decodes a single item that fills `bytes` completely, within ``CBORLimits``.
    package static func decode(_ bytes: [UInt8], maximumBytes: Int) throws(CBORError) -> CBORValue {
        do { return try decode(bytes, maximumBytes: maximumBytes, within: bounds) } catch { throw CBORError(error) }
    }

    /// Decodes the item at the start of `bytes` within ``CBORLimits``, and returns the rest.
    package static func decodePrefix(
        of bytes: ArraySlice<UInt8>
    ) throws(CBORError) -> (value: CBORValue, rest: ArraySlice<UInt8>) {
        do { return try decodePrefix(of: bytes, within: bounds) } catch { throw CBORError(error) }
    }
}
