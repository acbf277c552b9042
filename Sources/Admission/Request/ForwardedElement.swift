/// One element of `Forwarded` (RFC 7239 section 4): pairs such as `for="[2001:db8::1]:4711";proto=https`, of which `for` counts.
struct ForwardedElement {
    /// Nobody, where there is no `for`.
    let node: ForwardedFor.Node

    /// `nil` for anything but pairs, for a repeated `for`, and for a value that names no node.
    init?(_ text: Substring) {
        guard let pairs = Self.split(text, at: ";") else { return nil }
        var found: ForwardedFor.Node?
        for pair in pairs {
            guard let equals = pair.firstIndex(of: "="), let name = ASCIIText.lowercased(String(pair[..<equals])),
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

    /// Splits outside of quoted strings; `nil` where one doesn't end.
    static func split(_ text: Substring, at separator: Character) -> [Substring]? {
        var parts: [Substring] = []
        var start = text.startIndex
        var isQuoted = false
        var isEscaped = false
        for index in text.indices {
            let character = text[index]
            if isEscaped {
                isEscaped = false
            } else if isQuoted && character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                isQuoted.toggle()
            } else if !isQuoted && character == separator {
                parts.append(text[start..<index])
                start = text.index(after: index)
            }
        }
        return isQuoted ? nil : parts + [text[start...]]
    }

    static func trimmed(_ text: Substring) -> Substring {
        let head = text.drop { $0 == " " || $0 == "\t" }
        guard let last = head.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
        return head[...last]
    }

    /// A token, or a quoted string without escapes: none of the characters of an address needs one.
    private static func unquoted(_ text: Substring) -> String? {
        guard text.hasPrefix("\"") else { return text.isEmpty || text.contains("\"") ? nil : String(text) }
        let inner = text.dropFirst().dropLast()
        return text.count >= 2 && text.hasSuffix("\"") && !inner.contains { $0 == "\"" || $0 == "\\" }
            ? String(inner) : nil
    }
}
