/// One data item of RFC 8949, of the kinds that authenticators use: no tags, no floating point, no indefinite lengths.
package enum CBORValue: Sendable {
    /// Major type 0.
    case unsigned(UInt64)
    /// Major type 1. The number is `-1 - argument`.
    case negative(UInt64)
    /// Major type 2.
    case bytes([UInt8])
    /// Major type 3, verified to be UTF-8.
    case text(String)
    /// Major type 4.
    case array([CBORValue])
    /// Major type 5.
    case map(CBORMap)
    /// Major type 7, values 20 and 21.
    case boolean(Bool)
    /// Major type 7, value 22.
    case null
}

// Texts are equal if their bytes are: Swift's own `==` also matches canonically equivalent ones, in quadratic time.
extension CBORValue: Equatable {
    package static func == (one: CBORValue, other: CBORValue) -> Bool {
        switch (one, other) {
        case (.unsigned(let one), .unsigned(let other)), (.negative(let one), .negative(let other)): one == other
        case (.bytes(let one), .bytes(let other)): one == other
        case (.text(let one), .text(let other)): one.utf8.elementsEqual(other.utf8)
        case (.array(let one), .array(let other)): one == other
        case (.map(let one), .map(let other)): one == other
        case (.boolean(let one), .boolean(let other)): one == other
        case (.null, .null): true
        default: false
        }
    }
}

/// A map in the order of its encoding. Its keys are texts or integers, and no two are equal.
package struct CBORMap: Equatable, Sendable {
    package struct Entry: Equatable, Sendable {
        package let key: CBORValue
        package let value: CBORValue
    }

    package let entries: [Entry]

    /// The value of a text key. Keys are compared by UTF-8 bytes, because Swift's `==` also matches canonically
    /// equivalent texts.
    package subscript(_ name: String) -> CBORValue? {
        entries.first { $0.key.isText(name) }?.value
    }

    /// The value of a small integer key, as COSE uses them (RFC 9052, section 1.5).
    package subscript(_ label: Int8) -> CBORValue? {
        entries.first { $0.key == CBORValue(label) }?.value
    }

    /// Whether every key is one of `names`.
    package func hasOnly(_ names: String...) -> Bool {
        entries.allSatisfy { entry in names.contains { entry.key.isText($0) } }
    }
}

extension CBORValue {
    /// The integer, for which CBOR has two major types.
    package init(_ integer: Int8) {
        self = integer < 0 ? .negative(UInt64(-1 - integer)) : .unsigned(UInt64(integer))
    }

    /// Whether this is the text `name`, byte for byte.
    package func isText(_ name: String) -> Bool {
        guard case .text(let text) = self else { return false }
        return text.utf8.elementsEqual(name.utf8)
    }

    /// The content of a byte string; nil for any other kind.
    package var bytes: [UInt8]? {
        guard case .bytes(let bytes) = self else { return nil }
        return bytes
    }

    /// The number of either integer type; nil for any other kind, and for numbers out of range.
    package var integer: Int64? {
        switch self {
        case .unsigned(let number): Int64(exactly: number)
        case .negative(let argument): Int64(exactly: argument).map { -1 - $0 }
        default: nil
        }
    }
}
