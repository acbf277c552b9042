/// Writes JSON as bytes. Members keep the order in which they are added.
struct JSONText {
    private(set) var bytes: [UInt8] = [UInt8(ascii: "{")]

    static func object(_ add: (inout JSONText) -> Void) -> [UInt8] {
        var text = JSONText()
        add(&text)
        return text.bytes + [UInt8(ascii: "}")]
    }

    mutating func add(_ name: StaticString, _ value: String) {
        begin(name)
        append(quoted: value)
    }

    mutating func add(_ name: StaticString, _ value: some BinaryInteger) {
        begin(name)
        bytes += "\(value)".utf8
    }

    /// - Parameter json: a valid JSON text.
    mutating func add(_ name: StaticString, json: some Sequence<UInt8>) {
        begin(name)
        bytes += json
    }

    mutating func add(_ name: StaticString, _ members: (inout JSONText) -> Void) {
        add(name, json: Self.object(members))
    }

    private mutating func begin(_ name: StaticString) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        append(quoted: "\(name)")
        bytes.append(UInt8(ascii: ":"))
    }

    private mutating func append(quoted text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0..<0x20, 0x7F: bytes += "\\u00".utf8 + Array(BinaryText.hexadecimal([byte]).utf8)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
