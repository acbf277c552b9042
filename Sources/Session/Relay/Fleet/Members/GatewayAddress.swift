/// Where a gateway listens for the others, as its row says it: `gw1.example.org:6210` or `[2001:db8::1]:6210`.
package struct GatewayAddress: Hashable {
    /// Of a name of DNS, with brackets and a port.
    private static let maximumBytes = 300

    package let host: String
    package let port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// - Parameter text: of another gateway's row: longer text, and other than ASCII, is no address.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.maximumBytes, text.utf8.allSatisfy({ $0 < 0x80 }),
            let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...])
        else {
            return nil
        }
        var host = text[..<colon]
        if host.first == "[", host.last == "]" {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty, port > 0 else { return nil }
        self.init(host: String(host), port: port)
    }

    package var text: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
