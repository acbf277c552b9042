package import WireText

/// A JSON value (RFC 8259). Its texts may be a peer's: they are compared as bytes.
package indirect enum JSONValue: Sendable {
    case null
    case bool(Bool)
    /// A number without fraction and exponent that fits into an `Int`; exact.
    case integer(Int)
    /// Any other number, as it was written: it passes through without loss.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    package var isNull: Bool {
        if case .null = self { true } else { false }
    }

    package var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    package var object: JSONObject? {
        if case .object(let object) = self { object } else { nil }
    }
}

extension JSONValue: Equatable {
    package static func == (one: JSONValue, other: JSONValue) -> Bool {
        switch (one, other) {
        case (.null, .null): true
        case (.bool(let one), .bool(let other)): one == other
        case (.integer(let one), .integer(let other)): one == other
        case (.number(let one), .number(let other)), (.string(let one), .string(let other)):
            one.hasSameBytes(as: other)
        case (.array(let one), .array(let other)): one == other
        case (.object(let one), .object(let other)): one == other
        default: false
        }
    }
}

/// The members of an object in their original order.
///
/// If several members have the same name, the last one counts, and all of them are written again.
/// ``JSONBounds/repeatedNames`` says whether the reader makes such an object. Names are equal if their bytes are equal:
/// Swift's own `==` would also treat two encodings of one character as equal.
package struct JSONObject: Equatable, Sendable {
    package struct Member: Equatable, Sendable {
        package let name: String
        package let value: JSONValue

        package init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }

        package static func == (one: Member, other: Member) -> Bool {
            one.name.hasSameBytes(as: other.name) && one.value == other.value
        }
    }

    package private(set) var members: [Member]

    package init(_ members: [Member] = []) {
        self.members = members
    }

    package mutating func append(_ name: String, _ value: JSONValue) {
        members.append(Member(name, value))
    }

    package subscript(name: String) -> JSONValue? {
        members.last { $0.name.hasSameBytes(as: name) }?.value
    }
}

extension JSONWriter {
    package static func append(_ value: JSONValue, to bytes: inout [UInt8]) {
        switch value {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .bool(let value): bytes.append(contentsOf: (value ? "true" : "false").utf8)
        case .integer(let value): bytes.append(contentsOf: String(value).utf8)
        case .number(let text): bytes.append(contentsOf: text.utf8)
        case .string(let text): append(string: text, to: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                append(element, to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let object): append(object, to: &bytes)
        }
    }

    private static func append(_ object: JSONObject, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "{"))
        for (index, member) in object.members.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            append(string: member.name, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            append(member.value, to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
    }
}

extension ArraySlice<UInt8> {
    /// nil at the end of the slice.
    func byte(at position: Int) -> UInt8? {
        position < endIndex ? self[position] : nil
    }
}
