/// Appends JSON (RFC 8259) to a buffer: compact, and formatted like ECMAScript's `JSON.stringify`.
///
/// The output is always valid UTF-8: strings are by their type, and the caller validates raw text.
package enum JSONWriter {
    package static func append(_ value: JSONValue, to bytes: inout [UInt8]) {
        switch value {
        case .null: bytes.append("null")
        case .bool(let value): bytes.append(value ? "true" : "false")
        case .integer(let value): bytes.append(decimal: value)
        case .number(let text): bytes.append(contentsOf: text.utf8)
        case .string(let text): append(string: text, to: &bytes)
        case .array(let elements):
            bytes.append("[")
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(",") }
                append(element, to: &bytes)
            }
            bytes.append("]")
        case .object(let object): append(object, to: &bytes)
        }
    }

    private static func append(_ object: JSONObject, to bytes: inout [UInt8]) {
        bytes.append("{")
        for (index, member) in object.members.enumerated() {
            if index > 0 { bytes.append(",") }
            append(string: member.name, to: &bytes)
            bytes.append(":")
            append(member.value, to: &bytes)
        }
        bytes.append("}")
    }

    /// Includes the quotation marks.
    package static func append(string: some StringProtocol, to bytes: inout [UInt8]) {
        append(utf8: string.utf8, to: &bytes)
    }

    /// - Parameter utf8: valid UTF-8.
    static func append(utf8: some Sequence<UInt8>, to bytes: inout [UInt8]) {
        bytes.append("\"")
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "\""): bytes.append(#"\""#)
            case UInt8(ascii: "\\"): bytes.append(#"\\"#)
            case 0..<0x20: append(control: byte, to: &bytes)
            default: bytes.append(byte)
            }
        }
        bytes.append("\"")
    }

    private static func append(control byte: UInt8, to bytes: inout [UInt8]) {
        switch byte {
        case 0x08: bytes.append(#"\b"#)
        case 0x09: bytes.append(#"\t"#)
        case 0x0A: bytes.append(#"\n"#)
        case 0x0C: bytes.append(#"\f"#)
        case 0x0D: bytes.append(#"\r"#)
        default:
            bytes.append(byte < 0x10 ? #"\u000"# : #"\u001"#)
            let digit = byte & 0x0F
            bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }
}
