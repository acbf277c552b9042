/// The base URL of a gate, checked once. Every URL that the library asks for begins with it, so that credentials go
/// nowhere else.
struct GateAddress: Sendable {
    static let maximumBytes = 2_048

    let isSecure: Bool
    /// In lower case, with the port unless it is the scheme's own.
    let authority: String
    /// Empty, or with a slash at its front and none at its end.
    let basePath: String

    var scheme: String { isSecure ? "https" : "http" }
    var origin: String { "\(scheme)://\(authority)" }

    init(_ text: String) throws(ConfigurationProblem) {
        let bytes = Array(text.utf8)
        guard bytes.count <= Self.maximumBytes, bytes.allSatisfy(\.isVisibleASCII) else { throw .invalidURL }
        let lower = bytes.map(\.lowercasedASCII)
        let prefix = lower.starts(with: "https://".utf8) ? 8 : lower.starts(with: "http://".utf8) ? 7 : 0
        guard prefix > 0 else { throw .invalidURL }
        let end = bytes[prefix...].firstIndex(of: UInt8(ascii: "/")) ?? bytes.endIndex
        isSecure = prefix == 8
        authority = try Self.authority(lower[prefix..<end], defaultPort: isSecure ? 443 : 80)
        guard isSecure || Self.isThisMachine(authority) else { throw .invalidURL }
        let path = String(decoding: bytes[end...], as: UTF8.self)
        guard !path.utf8.contains(UInt8(ascii: "?")) else { throw .invalidURL }
        let trimmed = try Self.path(path)
        basePath = trimmed.isSame(as: "/") ? "" : String(decoding: trimmed.utf8.withoutTrailingSlashes, as: UTF8.self)
    }

    /// A host name, an IPv4 address or an IPv6 address in brackets, and a port.
    private static func authority(_ bytes: ArraySlice<UInt8>, defaultPort: Int) throws(ConfigurationProblem) -> String {
        var host = bytes
        var port = ""
        let hostEnd = bytes.first == UInt8(ascii: "[") ? bytes.firstIndex(of: UInt8(ascii: "]")) : nil
        if let colon = bytes[(hostEnd ?? bytes.startIndex)...].firstIndex(of: UInt8(ascii: ":")) {
            host = bytes[..<colon]
            guard let number = bytes[(colon + 1)...].decimal(upTo: 65_535), number > 0 else { throw .invalidURL }
            port = number == defaultPort ? "" : ":\(number)"
        }
        let isLiteral = host.first == UInt8(ascii: "[")
        let inner = isLiteral ? host.dropFirst().dropLast() : host
        let others: [UInt8] = isLiteral ? Array(":.".utf8) : Array("-.".utf8)
        guard !inner.isEmpty, host.count <= 255, !isLiteral || host.last == UInt8(ascii: "]"),
            inner.allSatisfy({ $0.isASCIILetterOrDigit || others.contains($0) })
        else { throw .invalidURL }
        return String(decoding: host, as: UTF8.self) + port
    }

    private static func isThisMachine(_ authority: String) -> Bool {
        ["localhost", "127.0.0.1", "[::1]"].contains { name in
            authority.isSame(as: name) || authority.beginsSame(as: name + ":")
        }
    }

    // MARK: URLs below it

    /// - Parameter path: below the base URL, with or without a slash at its front. Behind the first `?` it is a query.
    func url(_ path: String) throws(ConfigurationProblem) -> String { origin + basePath + (try Self.path(path)) }

    /// - Parameter query: names and values that need no escapes.
    func webSocketURL(_ path: String, query: [(name: String, value: String)]) throws(ConfigurationProblem) -> String {
        let items = query.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        return "\(isSecure ? "wss" : "ws")://\(authority)\(basePath)\(try Self.path(path))"
            + (items.utf8.isEmpty ? "" : "?" + items)
    }

    /// A path and a query in the form of RFC 3986, with one slash at the front.
    private static func path(_ text: String) throws(ConfigurationProblem) -> String {
        guard text.utf8.count <= maximumBytes else { throw .invalidPath }
        let parts = text.utf8.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        let path = escaped(parts[0].drop { $0 == UInt8(ascii: "/") })
        guard !hasDotSegment(path), !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "#") })
        else { throw .invalidPath }
        return "/" + path + (parts.count > 1 ? "?" + escaped(parts[1], alsoAllowing: "?") : "")
    }

    private static func escaped(_ bytes: some Sequence<UInt8>, alsoAllowing more: String = "") -> String {
        let allowed = Array(("-._~!$&'()*+,;=:@/%" + more).utf8)
        var text = ""
        for byte in bytes {
            if byte.isASCIILetterOrDigit || allowed.contains(byte) {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += "%" + BinaryText.hexadecimal([byte]).uppercasedASCII
            }
        }
        return text
    }

    /// A client and a server may resolve `..` differently, and the proof names one URL.
    private static func hasDotSegment(_ path: String) -> Bool {
        path.utf8.split(separator: UInt8(ascii: "/")).contains { segment in
            var rest = segment.map(\.lowercasedASCII)[...]
            var dots = 0
            while rest.first == UInt8(ascii: ".") || rest.starts(with: "%2e".utf8) {
                rest = rest.dropFirst(rest.first == UInt8(ascii: ".") ? 1 : 3)
                dots += 1
            }
            return rest.isEmpty && (1...2).contains(dots)
        }
    }
}

extension StringProtocol {
    var uppercasedASCII: String {
        String(decoding: utf8.map { (0x61...0x7A).contains($0) ? $0 & 0xDF : $0 }, as: UTF8.self)
    }
}

extension BidirectionalCollection<UInt8> {
    var withoutTrailingSlashes: [UInt8] {
        var bytes = Array(self)
        while bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
        return bytes
    }
}
