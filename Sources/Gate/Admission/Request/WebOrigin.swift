import WireText

/// A web origin (RFC 6454) in normal form: scheme and host in lower case, the scheme's default port omitted.
///
/// The opaque origin `null`, and anything with user information, a path, a query or non-ASCII characters, is refused.
package struct WebOrigin: Hashable, Sendable {
    /// Longer ones are refused: a host name has 253 characters at most.
    static let maximumByteCount = 300

    /// As in an `Origin` header.
    package let text: String
    /// An IPv6 address has its brackets.
    package let host: String
    /// That of the scheme, if none is named; nil for a scheme that has none.
    package let port: UInt16?

    package init?(_ origin: String) {
        guard let characters = ASCIIByte.lowercased(origin)?.utf8, characters.count <= Self.maximumByteCount,
            let colon = characters.firstIndex(of: UInt8(ascii: ":"))
        else {
            return nil
        }
        let scheme = characters[..<colon]
        let rest = characters[colon...].dropFirst()
        guard Self.isScheme(scheme), rest.starts(with: "//".utf8),
            let (host, port) = Self.hostAndPort(rest.dropFirst(2))
        else { return nil }
        let schemeText = String(Substring(scheme))
        let implied = Self.impliedPort(of: schemeText)
        self.host = host
        self.port = port ?? implied
        text = schemeText + "://" + host + (port == nil || port == implied ? "" : ":" + String(port ?? 0))
    }

    /// RFC 3986 section 3.1.
    private static func isScheme(_ scheme: Substring.UTF8View) -> Bool {
        guard let first = scheme.first, ASCIIByte.isLetter(first) else { return false }
        return scheme.allSatisfy { ASCIIByte.isLetter($0) || ASCIIByte.isDigit($0) || "+-.".utf8.contains($0) }
    }

    private static func hostAndPort(_ authority: Substring.UTF8View) -> (host: String, port: UInt16?)? {
        let isBracketed = authority.first == UInt8(ascii: "[")
        let mark = isBracketed ? authority.firstIndex(of: UInt8(ascii: "]")).map(authority.index(after:)) : nil
        let end = mark ?? authority.firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
        let host = authority[..<end]
        guard isBracketed ? isAddressLiteral(host) : isName(host) else { return nil }
        let rest = authority[end...]
        guard !rest.isEmpty else { return (String(Substring(host)), nil) }
        let digits = rest.dropFirst()
        guard rest.first == UInt8(ascii: ":"), (1...5).contains(digits.count), digits.allSatisfy(ASCIIByte.isDigit),
            let port = UInt16(String(Substring(digits)))
        else { return nil }
        return (String(Substring(host)), port)
    }

    private static func isName(_ host: Substring.UTF8View) -> Bool {
        !host.isEmpty && host.allSatisfy { ASCIIByte.isLetter($0) || ASCIIByte.isDigit($0) || "-._".utf8.contains($0) }
    }

    private static func isAddressLiteral(_ host: Substring.UTF8View) -> Bool {
        guard host.last == UInt8(ascii: "]") else { return false }
        return IPAddressText.ipv6(Array(host.dropFirst().dropLast())[...]) != nil
    }

    private static func impliedPort(of scheme: String) -> UInt16? {
        switch WireWord(scheme) {
        case "http", "ws": 80
        case "https", "wss": 443
        default: nil
        }
    }
}
