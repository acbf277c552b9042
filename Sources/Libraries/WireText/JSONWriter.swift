/// Writes one JSON object (RFC 8259): compact, escaped like ECMAScript's `JSON.stringify`, its members in the order in
/// which they are written. The static functions append single strings to a buffer.
///
/// The output is always valid UTF-8: strings are by their type, and the caller validates raw text.
package struct JSONWriter: Sendable {
    /// Without the closing brace.
    package private(set) var bytes: [UInt8] = [UInt8(ascii: "{")]

    package init() {}

    /// The finished object.
    package var object: [UInt8] { bytes + [UInt8(ascii: "}")] }

    package mutating func member(_ name: String, _ text: String) {
        begin(name)
        Self.append(string: text, to: &bytes)
    }

    package mutating func member(_ name: String, _ number: Int64) { member(name, json: Array(String(number).utf8)) }

    package mutating func member(_ name: String, _ flag: Bool) { member(name, json: Array(String(flag).utf8)) }

    package mutating func member(_ name: String, _ texts: [String]) {
        let elements = texts.map { text in
            var element: [UInt8] = []
            Self.append(string: text, to: &element)
            return element
        }
        member(name, json: elements)
    }

    /// - Parameter json: JSON texts, for instance objects.
    package mutating func member(_ name: String, json: [[UInt8]]) {
        begin(name)
        bytes.append(UInt8(ascii: "["))
        bytes.append(contentsOf: json.joined(separator: [UInt8(ascii: ",")]))
        bytes.append(UInt8(ascii: "]"))
    }

    package mutating func member(_ name: String, json: [UInt8]) {
        begin(name)
        bytes.append(contentsOf: json)
    }

    /// - Parameters:
    ///   - name: a JSON text that the caller has escaped, with its quotation marks.
    ///   - maximumBytes: what ``bytes`` may have afterwards.
    /// - Returns: false if the member doesn't fit; then nothing is written.
    package mutating func member(escaped name: [UInt8], json: [UInt8], maximumBytes: Int) -> Bool {
        let comma = bytes.count > 1 ? 1 : 0
        guard bytes.count + comma + name.count + 1 + json.count <= maximumBytes else { return false }
        if comma > 0 { bytes.append(UInt8(ascii: ",")) }
        bytes.append(contentsOf: name)
        bytes.append(UInt8(ascii: ":"))
        bytes.append(contentsOf: json)
        return true
    }

    private mutating func begin(_ name: String) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        Self.append(string: name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
    }
}

extension JSONWriter {
    /// Includes the quotation marks.
    package static func append(string: String, to bytes: inout [UInt8]) {
        #if canImport(Darwin)
            // Its span needs iOS 26 and macOS 26.
            append(utf8: Array(string.utf8).span, to: &bytes)
        #else
            append(utf8: string.utf8Span.span, to: &bytes)
        #endif
    }

    /// Includes the quotation marks.
    ///
    /// - Parameter utf8: valid UTF-8.
    package static func append(utf8: Span<UInt8>, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for index in utf8.indices {
            let byte = utf8[index]
            if byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
                bytes.append(byte)
            } else {
                append(escaped: byte, to: &bytes)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func append(escaped byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0..<0x20: bytes.append(contentsOf: ("u00" + Hexadecimal.encode([byte])).utf8)
        default: bytes.append(byte)
        }
    }
}
