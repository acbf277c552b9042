import WireText

/// A host as an operator writes it: an IP address, or a name if the setting allows names.
package struct NetworkHost: Sendable, Hashable, CustomStringConvertible {
    package enum Kind: Sendable, Hashable {
        case ipv4, ipv6, name
    }

    package let text: String
    package let kind: Kind

    package static let loopback = NetworkHost(text: "127.0.0.1", kind: .ipv4)

    /// Whether only this machine can reach it: an IPv4 loopback address, perhaps in its mapped form, or `::1`; false
    /// for names, whose addresses may change.
    package var isLoopback: Bool {
        IPAddress(text: text)?.isLoopback ?? false
    }

    /// Every address of the machine; clients can't connect to it under this text.
    package var isWildcard: Bool {
        switch kind {
        case .ipv4: text == "0.0.0.0"
        case .ipv6: Self.ipv6Bytes(text)?.allSatisfy { $0 == 0 } ?? false
        case .name: false
        }
    }

    /// The same for two spellings of one address.
    fileprivate var identity: [UInt8] { Self.ipv6Bytes(text) ?? Array(text.utf8) }

    package var description: String {
        kind == .ipv6 ? "[\(text)]" : text
    }

    static func ipv4(_ text: String) -> NetworkHost? {
        IPAddressText.ipv4(Array(text.utf8)[...]) != nil ? NetworkHost(text: text, kind: .ipv4) : nil
    }

    static func ipv6(_ text: String) -> NetworkHost? {
        ipv6Bytes(text) != nil ? NetworkHost(text: text, kind: .ipv6) : nil
    }

    private static func ipv6Bytes(_ text: String) -> [UInt8]? {
        IPAddressText.ipv6(Array(text.utf8)[...])
    }
}

extension SettingGrammar {
    /// RFC 1035, section 2.3.4.
    static let maximumNameBytes = 253
    static let maximumLabelBytes = 63

    /// An address to listen on.
    static func address(_ text: String) throws(SettingProblem) -> NetworkHost {
        guard let address = NetworkHost.ipv4(text) ?? NetworkHost.ipv6(text) else {
            throw SettingProblem(
                problem: "isn't an IP address",
                remedy: "Write `127.0.0.1` for this machine only, `0.0.0.0` or `::` for every address, or one of its"
                    + " addresses, without brackets or a port.")
        }
        return address
    }

    static let maximumAddresses = 16

    /// The addresses to listen on, each once.
    static func addresses(_ text: String) throws(SettingProblem) -> [NetworkHost] {
        var addresses: [NetworkHost] = []
        for element in try list(text) { addresses.append(try address(element)) }
        guard addresses.count <= maximumAddresses else {
            throw SettingProblem(
                problem: "has more than \(maximumAddresses) addresses", remedy: "Write `::` for every address.")
        }
        guard Set(addresses.map(\.identity)).count == addresses.count else {
            throw SettingProblem(problem: "has an address twice", remedy: "Write each address once.")
        }
        guard addresses.count == 1 || !addresses.contains(where: \.isWildcard) else {
            throw SettingProblem(
                problem: "has `0.0.0.0` or `::` and another address", remedy: "Write only `::` for every address.")
        }
        return addresses
    }

    /// A host to connect to.
    static func host(_ text: String) throws(SettingProblem) -> NetworkHost? {
        if let address = NetworkHost.ipv4(text) ?? NetworkHost.ipv6(text) { return address }
        guard isHostName(text) else {
            throw SettingProblem(
                problem: "is neither a host name nor an IP address",
                remedy: "Write only the host, like `mud.example.org`, without a scheme, brackets or a port.")
        }
        return NetworkHost(text: text, kind: .name)
    }

    /// Letters, digits, hyphens and underscores between dots. A last label of digits alone would be read as part of
    /// an address in an outdated notation, such as `127.1`.
    static func isHostName(_ text: String) -> Bool {
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        guard text.utf8.count <= maximumNameBytes, let last = labels.last, !last.utf8.allSatisfy(ASCIIByte.isDigit)
        else {
            return false
        }
        return labels.allSatisfy { label in
            (1...maximumLabelBytes).contains(label.utf8.count) && label.utf8.allSatisfy(isNameByte)
                && !label.hasPrefix("-") && !label.hasSuffix("-")
        }
    }

    /// Origins in the one form in which browsers send them (RFC 6454, section 6.2), because they are compared as text.
    static func origins(_ text: String) throws(SettingProblem) -> [String] {
        let elements = try list(text)
        guard elements.allSatisfy(isOrigin) else {
            throw SettingProblem(
                problem: "holds something that isn't an origin as browsers send it",
                remedy: "Write scheme and host in lower case, like `https://play.example.org`: no path, no `/` at the"
                    + " end, no `*`, and no port that is the scheme's default.")
        }
        return elements
    }

    /// One origin that a browser can open.
    static func webOrigin(_ text: String) throws(SettingProblem) -> String? {
        guard isOrigin(text), text.hasPrefix("https://") || text.hasPrefix("http://") else {
            throw SettingProblem(
                problem: "isn't the origin of a web page",
                remedy:
                    "Write scheme and host in lower case, like `https://play.example.org`: no path and no `/` at the end."
            )
        }
        return text
    }

    /// Characters of a URI (RFC 3986), up to ``maximumAudienceBytes``.
    static func audience(_ text: String) throws(SettingProblem) -> String? {
        let isVisible = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 }
        guard isVisible, text.utf8.count <= maximumAudienceBytes else {
            throw SettingProblem(
                problem: "isn't an audience",
                remedy: "Write a URL or a name of at most \(maximumAudienceBytes) characters, without spaces.")
        }
        return text
    }

    private static let maximumAudienceBytes = 255

    static func isOrigin(_ text: String) -> Bool {
        guard let separator = text.firstRange(of: "://"), text == text.lowercased() else { return false }
        let scheme = text[..<separator.lowerBound]
        let (host, port) = splitPort(text[separator.upperBound...])
        let isScheme = scheme.first?.isLetter == true && scheme.utf8.allSatisfy { isNameByte($0) || $0 == 0x2B }
        return isScheme && isOriginHost(host) && (port.map { isOriginPort($0, scheme: scheme) } ?? true)
    }

    private static func isOriginHost(_ host: Substring) -> Bool {
        if host.hasPrefix("["), host.hasSuffix("]") {
            return NetworkHost.ipv6(String(host.dropFirst().dropLast())) != nil
        }
        return NetworkHost.ipv4(String(host)) != nil || isHostName(String(host))
    }

    private static func isOriginPort(_ port: Substring, scheme: Substring) -> Bool {
        guard let number = try? integer(String(port), in: 1...65_535), String(number) == port else { return false }
        return number != ["http": 80, "https": 443][String(scheme)]
    }

    /// The colon of a port comes after any closing bracket of an IPv6 address.
    private static func splitPort(_ text: Substring) -> (host: Substring, port: Substring?) {
        guard let colon = text.lastIndex(of: ":"), !text[colon...].contains("]") else { return (text, nil) }
        return (text[..<colon], text[text.index(after: colon)...])
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        ASCIIByte.isDigit(byte) || ASCIIByte.isLetter(byte)
            || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
}
