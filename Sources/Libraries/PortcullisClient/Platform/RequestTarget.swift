/// The parts of an absolute URL that a transport needs.
package struct RequestTarget: Sendable {
    package let isSecure: Bool
    /// Without brackets.
    package let host: String
    package let port: Int
    /// For the field `Host`.
    package let authority: String
    /// Path and query.
    package let target: String

    /// - Returns: nil for anything but an absolute URL of HTTP or WebSocket.
    package init?(_ url: String) {
        let bytes = Array(url.utf8)
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) else {
            return nil
        }
        let scheme = String(decoding: bytes[..<colon], as: UTF8.self)
        isSecure = scheme.isSameIgnoringCase(as: "https") || scheme.isSameIgnoringCase(as: "wss")
        guard isSecure || scheme.isSameIgnoringCase(as: "http") || scheme.isSameIgnoringCase(as: "ws") else {
            return nil
        }
        // A fragment is never sent.
        let rest = bytes[(colon + 3)...].prefix { $0 != UInt8(ascii: "#") }
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        authority = String(decoding: rest[..<end], as: UTF8.self)
        let path = String(decoding: rest[end...], as: UTF8.self)
        target = path.utf8.first == UInt8(ascii: "/") ? path : "/" + path
        var host = rest[..<end]
        var port = isSecure ? 443 : 80
        if let last = host.lastIndex(of: UInt8(ascii: ":")), host.last != UInt8(ascii: "]") {
            guard let number = host[(last + 1)...].decimal(upTo: 65_535) else { return nil }
            port = number
            host = host[..<last]
        }
        if host.first == UInt8(ascii: "[") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { return nil }
        self.host = String(decoding: host, as: UTF8.self)
        self.port = port
    }

    /// Whether the host is an address, which TLS doesn't name.
    package var isAddress: Bool {
        host.utf8.contains(UInt8(ascii: ":")) || host.utf8.allSatisfy { $0.isASCIIDigit || $0 == UInt8(ascii: ".") }
    }
}
