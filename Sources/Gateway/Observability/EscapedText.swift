/// Text of unknown origin in a form that is safe to print: on a terminal, in a log line, in an error message.
///
/// Everything invisible is escaped: control characters (a newline would forge a line, an ESC controls the terminal),
/// format characters (U+202E reverses the reading direction), separators other than the space, private and unassigned
/// code points, and bytes that aren't UTF-8. The backslash is doubled, so that an escape can be told from the same
/// characters in the input.
///
/// The result is bounded: text beyond `maximumBytes` is cut between two characters and marked with `…`.
package struct EscapedText: Sendable, CustomStringConvertible {
    /// The default maximum of output bytes for a value.
    package static let defaultMaximumBytes = 1024

    package let description: String

    package init(_ text: String, maximumBytes: Int = defaultMaximumBytes) {
        guard !Self.isPlain(text, maximumBytes: maximumBytes) else {
            description = text
            return
        }
        var writer = BoundedText(maximumBytes: maximumBytes)
        for scalar in text.unicodeScalars {
            guard writer.append(Self.escaped(scalar)) else { break }
        }
        description = writer.text
    }

    /// Bytes that should be UTF-8; invalid ones are written as `\xHH`.
    package init(bytes: [UInt8], maximumBytes: Int = defaultMaximumBytes) {
        var writer = BoundedText(maximumBytes: maximumBytes)
        var rest = bytes[...]
        while let first = rest.first {
            if let scalar = Self.leadingScalar(of: rest) {
                rest = rest.dropFirst(Unicode.UTF8.width(scalar))
                guard writer.append(Self.escaped(scalar)) else { break }
            } else {
                rest = rest.dropFirst()
                guard writer.append("\\x" + hexadecimal(UInt32(first), digits: 2)) else { break }
            }
        }
        description = writer.text
    }

    /// Whether the text needs no escaping. This fast check accepts nearly all texts: short, visible ASCII without a
    /// backslash.
    static func isPlain(_ text: String, maximumBytes: Int = defaultMaximumBytes) -> Bool {
        let bytes = text.utf8
        return bytes.count <= maximumBytes
            && bytes.allSatisfy { $0 >= 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }
    }

    /// The character that `bytes` begin with; nil when they begin with none (RFC 3629: no overlong forms, no
    /// surrogates, nothing cut short).
    private static func leadingScalar(of bytes: ArraySlice<UInt8>) -> Unicode.Scalar? {
        let lengths = [0xC0: 1, 0xE0: 2, 0xF0: 3, 0xF8: 4]
        guard let first = bytes.first else { return nil }
        guard first >= 0x80 else { return Unicode.Scalar(first) }
        let length = lengths.filter { Int(first) < $0.key }.map(\.value).min() ?? 0
        guard length > 1, bytes.count >= length else { return nil }
        return String(validating: bytes.prefix(length), as: UTF8.self)?.unicodeScalars.first
    }

    /// A character inside a string of JSON: itself if it is visible, else `\uXXXX`, with two surrogates beyond the BMP
    /// (RFC 8259, section 7).
    package static func inJSON(_ scalar: Unicode.Scalar) -> String {
        guard !scalar.isVisible else { return String(scalar) }
        return UTF16.encode(scalar).map { units in
            units.map { "\\u" + hexadecimal(UInt32($0), digits: 4) }.joined()
        } ?? "\\uFFFD"
    }

    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\\": "\\\\"
        case "\n": "\\n"
        case "\r": "\\r"
        case "\t": "\\t"
        default: scalar.isVisible ? String(scalar) : "\\u{" + hexadecimal(scalar.value, digits: 4) + "}"
        }
    }
}

extension Unicode.Scalar {
    /// Whether the character can be shown unescaped: it is visible or the space, and doesn't affect the layout of other
    /// characters.
    var isVisible: Bool {
        if isASCII { return value >= 0x20 && value != 0x7F }
        switch properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator,
            .spaceSeparator:
            return false
        default:
            return true
        }
    }
}

/// Uppercase hexadecimal, padded with zeros to at least `digits`.
func hexadecimal(_ value: UInt32, digits: Int) -> String {
    let text = String(value, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, digits - text.count)) + text
}

/// Text that accepts pieces until one would exceed the limit; then it appends the cut mark, and accepts nothing more.
struct BoundedText {
    /// U+2026, three bytes; it may exceed the limit.
    static let cutMark = "…"

    let maximumBytes: Int
    private(set) var text = ""
    private(set) var isCut = false

    init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
    }

    /// Appends the whole piece, or nothing of it; false once the text is cut.
    mutating func append(_ piece: String) -> Bool {
        guard !isCut else { return false }
        guard text.utf8.count + piece.utf8.count <= maximumBytes else {
            text += Self.cutMark
            isCut = true
            return false
        }
        text += piece
        return true
    }
}
