package import WireText

/// The client's address as reported by proxies: `X-Forwarded-For`, and `Forwarded` (RFC 7239).
///
/// Any client can send these headers, so only elements written by trusted proxies count. They are read from the right, where the nearest
/// proxy appended, up to the first address that isn't a trusted proxy's. That address is the client. Everything to its left comes from the
/// client and is ignored.
package struct ForwardedFor: Sendable {
    /// The maximum number of hops that are followed. No legitimate chain of proxies is longer.
    package static let maximumHops = 32
    /// A longer element is treated as unnamed.
    package static let maximumElementBytes = 256

    /// Each holds all fields of its name, joined with commas (RFC 9110 section 5.3); `nil` when absent.
    package var xForwardedFor: String?
    package var forwarded: String?

    package init(xForwardedFor: String? = nil, forwarded: String? = nil) {
        self.xForwardedFor = xForwardedFor
        self.forwarded = forwarded
    }

    /// The client of a request: `peer`, unless that is a trusted proxy that names another.
    ///
    /// If the deciding hop is malformed or unnamed, the result is the last certain address: the trusted proxy that reported that hop.
    /// Limits then count all clients behind that proxy as one, which is the safe choice.
    /// - Parameter peer: the connected peer, or the address in a PROXY header from a trusted peer.
    /// - Parameter trusted: `TRUSTED_PROXY_CIDRS`.
    package func client(of peer: IPAddress, trusted: [AddressRange]) -> IPAddress {
        func isTrusted(_ address: IPAddress) -> Bool { trusted.contains { $0.contains(address) } }
        guard isTrusted(peer) else { return peer }
        var certain = peer
        guard var elements else { return peer }
        for _ in 0..<Self.maximumHops {
            // Elements beyond an untrusted hop may be forged: they aren't read.
            guard let element = elements.popLast(), let address = node(element)?.address else { return certain }
            certain = address
            guard isTrusted(address) else { return certain }
        }
        return certain
    }

    /// `nil` if both headers are present: a proxy that writes one may have passed on the other from the client.
    private var elements: ForwardedElements? {
        switch (xForwardedFor, forwarded) {
        case (let list?, nil): ForwardedElements(list, separator: UInt8(ascii: ","), hasQuotes: false)
        case (nil, let list?): ForwardedElements(list, separator: UInt8(ascii: ","), hasQuotes: true)
        default: nil
        }
    }

    /// Anything but ASCII text is malformed. Only the hop's own bytes decide this; the bytes before them come from its client.
    private func node(_ element: Substring) -> Node? {
        guard element.utf8.count <= Self.maximumElementBytes, ForwardedElement.isText(element) else { return nil }
        let text = Substring(element.utf8.trimmed(where: ASCIIByte.isBlank))
        return forwarded == nil ? Self.node(text) : ForwardedElement(text)?.node
    }

    /// The node of a hop. A `nil` address means that the node is unnamed.
    struct Node {
        let address: IPAddress?
    }

    /// An address, with or without a port and brackets; `unknown`; or an obfuscated name (RFC 7239 section 6).
    static func node(_ text: Substring) -> Node? {
        if text == "unknown" || text.hasPrefix("_") { return Node(address: nil) }
        if let address = IPAddress(text: String(text)) { return Node(address: address) }
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]"), isPort(text[text.index(after: end)...]) else { return nil }
            let inner = String(text[text.index(after: text.startIndex)..<end])
            return inner.contains(":") ? IPAddress(text: inner).map(Node.init) : nil
        }
        guard let colon = text.firstIndex(of: ":"), isPort(text[colon...]) else { return nil }
        return IPAddress(text: String(text[..<colon])).map(Node.init)
    }

    /// Nothing, or a colon and one to five digits, or an obfuscated port (`:_…`).
    private static func isPort(_ text: Substring) -> Bool {
        guard let colon = text.first else { return true }
        let port = text.dropFirst()
        return colon == ":"
            && (port.hasPrefix("_")
                || (1...5).contains(port.utf8.count) && port.utf8.allSatisfy { (0x30...0x39).contains($0) })
    }
}
