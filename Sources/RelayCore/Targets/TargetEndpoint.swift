import WireText

/// A host and a port, written `mud.example.org:4000`, `192.0.2.1:4000` or `[2001:db8::1]:4000`.
package struct TargetEndpoint: Hashable, Sendable {
    package let host: TargetHost
    package let port: UInt16

    package init(host: TargetHost, port: UInt16) {
        self.host = host
        self.port = port
    }

    package init(_ text: some StringProtocol) throws(TargetFault) {
        guard let colon = text.lastIndex(of: ":") else { throw .portMissing }
        let host = text[..<colon]
        // Without brackets the end of an IPv6 address is ambiguous.
        guard let host = TargetHost(String(host)), !text[..<colon].contains(":") || text.hasPrefix("[") else {
            throw text.hasSuffix("]") ? .portMissing : .host
        }
        self.init(host: host, port: try Self.port(text[text.index(after: colon)...]))
    }

    /// 1–65535 in decimal, without leading zeros.
    static func port(_ text: some StringProtocol) throws(TargetFault) -> UInt16 {
        let isPlain = text.utf8.allSatisfy(ASCIIByte.isDigit) && text.first != "0"
        guard isPlain, let port = UInt16(text) else { throw .port }
        return port
    }

    package var text: String {
        guard case .address(let address) = host, !address.isIPv4 else { return "\(host.text):\(port)" }
        return "[\(host.text)]:\(port)"
    }
}
