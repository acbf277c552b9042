import WireText

/// One element of `Forwarded` (RFC 7239 section 4): pairs such as `for="[2001:db8::1]:4711";proto=https`, of which only `for` is used.
struct ForwardedElement {
    /// An unnamed node if there is no `for`.
    let node: ForwardedFor.Node

    /// - Parameter text: of ``isText(_:)``.
    /// - Returns: `nil` for anything but pairs, an unterminated quoted string, a repeated `for`, or a value that isn't a node.
    init?(_ text: Substring) {
        var found: ForwardedFor.Node?
        guard let pairs = Self.pairs(text) else { return nil }
        for pair in pairs {
            guard let equals = pair.firstIndex(of: "="), let name = ASCIIByte.lowercased(String(pair[..<equals])),
                !name.isEmpty
            else { return nil }
            guard name == "for" else { continue }
            guard found == nil, let value = Self.unquoted(pair[pair.index(after: equals)...]),
                let node = ForwardedFor.node(value[...])
            else { return nil }
            found = node
        }
        node = found ?? ForwardedFor.Node(address: nil)
    }

    private static func pairs(_ text: Substring) -> [Substring]? {
        var elements = ForwardedElements(text, separator: UInt8(ascii: ";"), hasQuotes: true)
        var pairs: [Substring] = []
        while let pair = elements.popLast() { pairs.append(pair) }
        return elements.hasOpenQuote ? nil : pairs
    }

    /// Printable ASCII, blanks and tabs, so each byte is a `Character`.
    static func isText(_ text: Substring) -> Bool { text.utf8.allSatisfy { (0x20...0x7E).contains($0) || $0 == 0x09 } }

    /// A token, or a quoted string without escapes: an address needs none.
    private static func unquoted(_ text: Substring) -> String? {
        guard text.hasPrefix("\"") else { return text.isEmpty || text.contains("\"") ? nil : String(text) }
        let inner = text.dropFirst().dropLast()
        return text.count >= 2 && text.hasSuffix("\"") && !inner.contains { $0 == "\"" || $0 == "\\" }
            ? String(inner) : nil
    }
}
