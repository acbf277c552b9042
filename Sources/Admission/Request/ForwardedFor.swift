/// What proxies say about where a request came from: `X-Forwarded-For`, and `Forwarded` (RFC 7239).
///
/// Anybody can send these headers, so they count only as far as trusted proxies have written them: read from the right, where the nearest
/// proxy wrote, up to the first address that isn't a trusted proxy's. That one is the client. Whatever stands to its left is its own word.
package struct ForwardedFor: Sendable {
    /// So many hops are walked at most. No honest chain of proxies is longer.
    package static let maximumHops = 32
    /// A longer element names nobody.
    package static let maximumElementBytes = 256

    /// Each is all fields of its name, joined with commas (RFC 9110 section 5.3); `nil` when absent.
    package var xForwardedFor: String?
    package var forwarded: String?

    package init(xForwardedFor: String? = nil, forwarded: String? = nil) {
        self.xForwardedFor = xForwardedFor
        self.forwarded = forwarded
    }

    /// Whom a request is from: `peer`, unless that is a trusted proxy and says otherwise.
    ///
    /// Where a hop that decides is malformed or isn't named, it is the last address that is certain: the nearest trusted proxy that could
    /// say no more. Limits then count everybody behind it as one, which is the safe side.
    /// - Parameter peer: who connected, or whom a PROXY header from a trusted peer has named.
    /// - Parameter trusted: `TRUSTED_PROXY_CIDRS`.
    package func client(of peer: ClientAddress, trusted: [AddressRange]) -> ClientAddress {
        func isTrusted(_ address: ClientAddress) -> Bool { trusted.contains { $0.contains(address) } }
        guard isTrusted(peer) else { return peer }
        var certain = peer
        guard var elements else { return peer }
        for _ in 0..<Self.maximumHops {
            // What stands behind an untrusted hop may be anything: it isn't read at all.
            guard let element = elements.popLast(), let address = node(element)?.address else { return certain }
            certain = address
            guard isTrusted(address) else { return certain }
        }
        return certain
    }

    /// None where both headers are there: a proxy that writes one may have let the client's own other one pass.
    private var elements: ForwardedElements? {
        switch (xForwardedFor, forwarded) {
        case (let list?, nil): ForwardedElements(list, separator: UInt8(ascii: ","), hasQuotes: false)
        case (nil, let list?): ForwardedElements(list, separator: UInt8(ascii: ","), hasQuotes: true)
        default: nil
        }
    }

    /// What isn't ASCII text is malformed. A hop's own bytes alone decide of it: those before it are its client's.
    private func node(_ element: Substring) -> Node? {
        guard element.utf8.count <= Self.maximumElementBytes, ForwardedElement.isText(element) else { return nil }
        let text = ForwardedElement.trimmed(element)
        return forwarded == nil ? Self.node(text) : ForwardedElement(text)?.node
    }

    /// Who a hop was. `nil` in it: somebody who isn't named.
    struct Node {
        let address: ClientAddress?
    }

    /// An address, with or without a port and brackets; `unknown`; or an obfuscated name (RFC 7239 section 6).
    static func node(_ text: Substring) -> Node? {
        if text == "unknown" || text.hasPrefix("_") { return Node(address: nil) }
        if let address = ClientAddress(text: String(text)) { return Node(address: address) }
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]"), isPort(text[text.index(after: end)...]) else { return nil }
            let inner = String(text[text.index(after: text.startIndex)..<end])
            return inner.contains(":") ? ClientAddress(text: inner).map(Node.init) : nil
        }
        guard let colon = text.firstIndex(of: ":"), isPort(text[colon...]) else { return nil }
        return ClientAddress(text: String(text[..<colon])).map(Node.init)
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
