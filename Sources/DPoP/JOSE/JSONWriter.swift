/// Writes compact JSON. Members come in the order in which they are written.
struct JSONWriter {
    private(set) var bytes: [UInt8] = [UInt8(ascii: "{")]

    mutating func member(_ name: String, _ text: String) { member(name) { Self.append(text, to: &$0) } }

    mutating func member(_ name: String, _ number: Int64) {
        member(name) { $0.append(contentsOf: String(number).utf8) }
    }

    mutating func member(_ name: String, _ texts: [String]) {
        member(name) { bytes in Self.append(texts.map { text in { Self.append(text, to: &$0) } }, to: &bytes) }
    }

    /// - Parameter json: JSON texts, for instance objects.
    mutating func member(_ name: String, json: [[UInt8]]) {
        member(name) { bytes in Self.append(json.map { text in { $0.append(contentsOf: text) } }, to: &bytes) }
    }

    mutating func member(_ name: String, json: [UInt8]) { member(name) { $0.append(contentsOf: json) } }

    /// The object.
    var object: [UInt8] { bytes + [UInt8(ascii: "}")] }

    private mutating func member(_ name: String, _ value: (inout [UInt8]) -> Void) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        Self.append(name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        value(&bytes)
    }

    private static func append(_ elements: [(inout [UInt8]) -> Void], to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "["))
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            element(&bytes)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0..<0x20:
                bytes.append(contentsOf: (byte < 0x10 ? "\\u000" : "\\u001").utf8)
                bytes.append(contentsOf: String(byte & 0xF, radix: 16).utf8)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
