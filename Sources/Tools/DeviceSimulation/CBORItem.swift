/// CBOR written by a simulated device (RFC 8949). Unlike AppAttest's decoder it also supports non-strict encodings,
/// which forgeries need.
package enum CBORItem: Sendable {
    case unsigned(UInt64)
    /// The number is `-1 - argument`.
    case negative(UInt64)
    case bytes([UInt8])
    case text(String)
    case array([CBORItem])
    /// Entries in the given order, including equal keys.
    case map([(CBORItem, CBORItem)])
    case boolean(Bool)
    case null
    /// Bytes written unchanged.
    case raw([UInt8])

    /// The shortest encoding.
    package var encoded: [UInt8] {
        switch self {
        case .unsigned(let number): Self.head(0, number)
        case .negative(let argument): Self.head(1, argument)
        case .bytes(let bytes): Self.head(2, UInt64(bytes.count)) + bytes
        case .text(let text): Self.head(3, UInt64(text.utf8.count)) + Array(text.utf8)
        case .array(let items): Self.head(4, UInt64(items.count)) + items.flatMap(\.encoded)
        case .map(let entries):
            Self.head(5, UInt64(entries.count)) + entries.flatMap { $0.0.encoded + $0.1.encoded }
        case .boolean(let value): [value ? 0xf5 : 0xf4]
        case .null: [0xf6]
        case .raw(let bytes): bytes
        }
    }

    /// The initial byte and the argument after it.
    /// - Parameter width: bytes of the argument: 0 (inside the initial byte), 1, 2, 4 or 8; nil: the shortest.
    package static func head(_ majorType: UInt8, _ argument: UInt64, width: Int? = nil) -> [UInt8] {
        let width = width ?? shortestWidth(of: argument)
        let information: UInt8 =
            switch width {
            case 0: UInt8(truncatingIfNeeded: argument)
            case 1: 24
            case 2: 25
            case 4: 26
            default: 27
            }
        let big = (0..<width).reversed().map { UInt8(truncatingIfNeeded: argument >> (8 * $0)) }
        return [majorType << 5 | information] + big
    }

    private static func shortestWidth(of argument: UInt64) -> Int {
        switch argument {
        case 0..<24: 0
        case 24...0xff: 1
        case 0x100...0xffff: 2
        case 0x1_0000...0xffff_ffff: 4
        default: 8
        }
    }
}
