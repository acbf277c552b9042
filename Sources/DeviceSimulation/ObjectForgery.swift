/// Changes that turn a finished CBOR object into something other than strict CBOR.
enum ObjectForgery {
    /// A five-byte head with a length of 16 MiB, padded to twenty bytes.
    private static func huge(_ majorType: UInt8) -> [UInt8] {
        CBORItem.head(majorType, 16 * 1024 * 1024) + [UInt8](repeating: 0, count: 15)
    }

    private static let nestedThousandDeep = [UInt8](repeating: 0x81, count: 1000) + [0x00]
    private static let sizeAboveEveryLimit = 17 * 1024

    static func change(for defect: AttestationDefect) -> ((inout [UInt8]) -> Void)? {
        switch defect {
        case .empty: { $0 = [] }
        case .truncated: { $0.removeLast() }
        case .trailingBytes: { $0.append(0) }
        case .indefiniteMap: { $0 = [0xbf] + $0.dropFirst() + [0xff] }
        case .indefiniteBytes: { $0 = [0xa1, 0x63] + Array("fmt".utf8) + [0x5f, 0x41, 0x00, 0xff] }
        case .nonMinimalLength: { $0 = CBORItem.head(5, 3, width: 1) + $0.dropFirst() }
        case .reservedLength: { $0[0] = 5 << 5 | 28 }
        case .invalidUTF8: { $0 = [0xa1, 0x62, 0xc3, 0x28, 0x00] }
        case .tag: { $0 = [0xc1] + $0 }
        case .floatingPoint: { $0 = [0xf9, 0x3c, 0x00] }
        case .bytesAsKey: { $0 = [0xa1, 0x43] + Array("fmt".utf8) + [0x00] }
        case .nestedThousandDeep: { $0 = nestedThousandDeep }
        case .hugeByteString: { $0 = huge(2) }
        case .hugeArray: { $0 = huge(4) }
        case .hugeMap: { $0 = huge(5) }
        case .tooLarge: { $0 += [UInt8](repeating: 0, count: sizeAboveEveryLimit) }
        default: nil
        }
    }

    static func change(for defect: AssertionDefect) -> ((inout [UInt8]) -> Void)? {
        switch defect {
        case .empty: { $0 = [] }
        case .truncated: { $0.removeLast() }
        case .trailingBytes: { $0.append(0) }
        case .indefiniteMap: { $0 = [0xbf] + $0.dropFirst() + [0xff] }
        case .nonMinimalLength: { $0 = CBORItem.head(5, 2, width: 1) + $0.dropFirst() }
        case .nestedThousandDeep: { $0 = nestedThousandDeep }
        case .hugeByteString: { $0 = huge(2) }
        case .tooLarge: { $0 += [UInt8](repeating: 0, count: sizeAboveEveryLimit) }
        default: nil
        }
    }
}
