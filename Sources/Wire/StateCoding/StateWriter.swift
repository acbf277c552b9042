/// Writes a ``StateValue``.
///
/// | first byte | what follows |
/// |---|---|
/// | 0, 1, 2 | null, false, true |
/// | 3, 4 | an unsigned number; one below zero as -1 minus it |
/// | 5 | eight bytes of a double (IEEE 754), the highest first |
/// | 6, 7 | the number of bytes, then the bytes: text as UTF-8, or bytes |
/// | 8 | the number of values, then the values |
/// | 9 | the number of members, then of each its name, as text without its first byte, and its value |
///
/// Numbers have seven bits a byte, the lowest first; each byte but the last has its highest bit set.
package enum StateWriter {
    package static func write(_ value: StateValue) -> [UInt8] {
        var bytes: [UInt8] = []
        append(value, to: &bytes)
        return bytes
    }

    static func append(_ value: StateValue, to bytes: inout [UInt8]) {
        switch value {
        case .null: bytes.append(StateKind.null.rawValue)
        case .bool(let value): bytes.append((value ? StateKind.true : .false).rawValue)
        case .unsigned(let number): append(.unsigned, number, to: &bytes)
        case .negative(let number): append(.negative, number, to: &bytes)
        case .double(let number):
            bytes.append(StateKind.double.rawValue)
            let bits = number.bitPattern
            for shift in stride(from: UInt64(56), through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: bits >> shift))
            }
        case .text(let text):
            append(.text, UInt64(text.utf8.count), to: &bytes)
            bytes.append(contentsOf: text.utf8)
        case .bytes(let content):
            append(.bytes, UInt64(content.count), to: &bytes)
            bytes.append(contentsOf: content)
        case .list(let values):
            append(.list, UInt64(values.count), to: &bytes)
            for value in values { append(value, to: &bytes) }
        case .map(let members):
            append(.map, UInt64(members.count), to: &bytes)
            for member in members {
                append(UInt64(member.name.utf8.count), to: &bytes)
                bytes.append(contentsOf: member.name.utf8)
                append(member.value, to: &bytes)
            }
        }
    }

    private static func append(_ kind: StateKind, _ number: UInt64, to bytes: inout [UInt8]) {
        bytes.append(kind.rawValue)
        append(number, to: &bytes)
    }

    private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        var rest = number
        while rest > 0x7F {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }
}

/// The first byte of a value.
enum StateKind: UInt8 {
    case null, `false`, `true`, unsigned, negative, double, text, bytes, list, map
}
