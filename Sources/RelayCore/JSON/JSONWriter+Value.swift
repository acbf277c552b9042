package import WireText

extension JSONWriter {
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
}
