import WireText

/// Parses the grammar shared by the handshake's header fields: tokens, lists and quoted strings (RFC 6455 §9.1; RFC
/// 9110 §5.6).
struct HeaderText {
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    var isAtEnd: Bool { position == bytes.count }

    mutating func skipBlanks() {
        while position < bytes.count, ASCIIByte.isBlank(bytes[position]) { position += 1 }
    }

    /// Consumes `character` if it comes next.
    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    /// A token (RFC 9110 §5.6.2), never empty.
    mutating func token() -> String? {
        let start = position
        while position < bytes.count, Self.isTokenByte(bytes[position]) { position += 1 }
        return position > start ? String(decoding: bytes[start..<position], as: UTF8.self) : nil
    }

    /// A token, or a quoted string whose content is a token once unescaped (RFC 6455 §9.1).
    mutating func tokenOrQuotedToken() -> String? {
        guard take("\"") else { return token() }
        var content: [UInt8] = []
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            if bytes[position] == UInt8(ascii: "\\") { position += 1 }
            guard position < bytes.count else { return nil }
            content.append(bytes[position])
            position += 1
        }
        guard take("\""), !content.isEmpty, content.allSatisfy(Self.isTokenByte) else { return nil }
        return String(decoding: content, as: UTF8.self)
    }

    /// A protocol's name, with the version behind it (RFC 9110 §7.8).
    private mutating func protocolName() -> (name: String, version: String?)? {
        guard let name = token() else { return nil }
        guard take("/") else { return (name, nil) }
        return token().map { (name, $0) }
    }

    /// The tokens of a list that may span several fields. Empty elements are refused. Nil if the list is malformed or
    /// too long.
    static func tokens(_ fields: [String], limit: Int) -> [String]? {
        list(fields, limit: limit) { $0.token() }
    }

    /// The same for a list of protocols.
    static func protocols(_ fields: [String], limit: Int) -> [(name: String, version: String?)]? {
        list(fields, limit: limit) { $0.protocolName() }
    }

    /// Whether a token stands alone between commas, in a list that may be malformed elsewhere, also within quotation
    /// marks. In one pass.
    static func names(_ token: String, in field: String) -> Bool {
        var text = HeaderText(field)
        repeat {
            text.skipBlanks()
            let isNamed = text.take(token)
            text.skipBlanks()
            if isNamed, text.isAtEnd || text.bytes[text.position] == UInt8(ascii: ",") { return true }
            while !text.isAtEnd, text.bytes[text.position] != UInt8(ascii: ",") { text.position += 1 }
        } while text.take(",")
        return false
    }

    /// Consumes these letters, in any case, if they come next.
    private mutating func take(_ letters: String) -> Bool {
        let next = bytes[position...].prefix(letters.utf8.count)
        guard next.elementsEqual(letters.utf8, by: { ASCIIByte.lowercased($0) == ASCIIByte.lowercased($1) })
        else { return false }
        position += next.count
        return true
    }

    private static func list<Element>(
        _ fields: [String], limit: Int, of element: (inout HeaderText) -> Element?
    ) -> [Element]? {
        var elements: [Element] = []
        for field in fields {
            var text = HeaderText(field)
            repeat {
                text.skipBlanks()
                guard elements.count < limit, let next = element(&text) else { return nil }
                elements.append(next)
                text.skipBlanks()
            } while text.take(",")
            guard text.isAtEnd else { return nil }
        }
        return elements
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E, 0x5F, 0x60, 0x7C, 0x7E: true
        default: false
        }
    }
}
