/// Why bytes are not strict CBOR (RFC 8949; the rules of section 4.2.1 except key order).
package enum CBORFault: Error, Hashable, Sendable {
    /// The input is longer than the limit for its kind.
    case tooLarge
    /// The input ends inside an item, or an item announces more bytes than are left.
    case truncated
    /// Bytes follow the item.
    case trailingBytes
    /// Arrays and maps are nested deeper than ``CBORBounds/maximumDepth``.
    case tooDeep
    /// More items than ``CBORBounds/maximumItems``.
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

/// What a document may cost the decoder beside its bytes. Every caller has its own.
package struct CBORBounds: Hashable, Sendable {
    /// The nesting depth of arrays and maps, including the outermost.
    package let maximumDepth: Int
    /// Items in one document, including keys and containers.
    package let maximumItems: Int

    package init(maximumDepth: Int, maximumItems: Int) {
        self.maximumDepth = maximumDepth
        self.maximumItems = maximumItems
    }
}
