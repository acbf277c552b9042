package import WireText

/// The client's address as reported by proxies: `X-Forwarded-For`, and `Forwarded` (RFC 7239).
///
/// Any client can send these headers, so only elements written by trusted proxies count. They are read from the right,
/// where the nearest proxy appended, up to the first address that isn't a trusted proxy's. That address is the client.
/// Everything to its left comes from the client and is ignored.
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
    /// If the deciding hop is malformed or unnamed, the result is the last certain address: the trusted proxy that
    /// reported that hop. Limits then count all clients behind that proxy as one, which is the safe choice.
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
        case (let list?, nil): ForwardedElements(Array(list.utf8)[...], separator: UInt8(ascii: ","), hasQuotes: false)
        case (nil, let list?): ForwardedElements(Array(list.utf8)[...], separator: UInt8(ascii: ","), hasQuotes: true)
        default: nil
        }
    }

    /// Anything but ASCII text is malformed. Only the hop's own bytes decide this; the bytes before them come from its
    /// client.
    private func node(_ element: ArraySlice<UInt8>) -> Node? {
        guard element.count <= Self.maximumElementBytes, ForwardedElement.isText(element) else { return nil }
        let text = element.trimmed(where: ASCIIByte.isBlank)
        return forwarded == nil ? Self.node(text) : ForwardedElement(text)?.node
    }

    /// The node of a hop. A `nil` address means that the node is unnamed.
    struct Node {
        let address: IPAddress?
    }

    /// An address, with or without a port and brackets; `unknown`; or an obfuscated name (RFC 7239 section 6).
    static func node(_ text: ArraySlice<UInt8>) -> Node? {
        if text.elementsEqual("unknown".utf8) || text.first == UInt8(ascii: "_") { return Node(address: nil) }
        if let address = IPAddress(ascii: text) { return Node(address: address) }
        if text.first == UInt8(ascii: "[") {
            guard let end = text.firstIndex(of: UInt8(ascii: "]")), isPort(text[(end + 1)...]) else { return nil }
            let inner = text[..<end].dropFirst()
            return inner.contains(UInt8(ascii: ":")) ? IPAddress(ascii: inner).map(Node.init) : nil
        }
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")), isPort(text[colon...]) else { return nil }
        return IPAddress(ascii: text[..<colon]).map(Node.init)
    }

    /// Nothing, or a colon and one to five digits, or an obfuscated port (`:_…`).
    private static func isPort(_ text: ArraySlice<UInt8>) -> Bool {
        guard let colon = text.first else { return true }
        let port = text.dropFirst()
        return colon == UInt8(ascii: ":")
            && (port.first == UInt8(ascii: "_")
                || (1...5).contains(port.count) && port.allSatisfy(ASCIIByte.isDigit))
    }
}

extension IPAddress {
    /// - Parameter text: ASCII.
    fileprivate init?(ascii text: ArraySlice<UInt8>) { self.init(text: String(decoding: text, as: UTF8.self)) }
}

/// One element of `Forwarded` (RFC 7239 section 4): pairs such as `for="[2001:db8::1]:4711";proto=https`, of which only
/// `for` is used.
struct ForwardedElement {
    /// An unnamed node if there is no `for`.
    let node: ForwardedFor.Node

    /// - Parameter text: of ``isText(_:)``.
    /// - Returns: `nil` for anything but pairs, an unterminated quoted string, a repeated `for`, or a value that isn't
    ///   a node.
    init?(_ text: ArraySlice<UInt8>) {
        var found: ForwardedFor.Node?
        guard let pairs = Self.pairs(text) else { return nil }
        for pair in pairs {
            guard let equals = pair.firstIndex(of: UInt8(ascii: "=")), equals > pair.startIndex else { return nil }
            guard pair[..<equals].map(ASCIIByte.lowercased).elementsEqual("for".utf8) else { continue }
            guard found == nil, let value = Self.unquoted(pair[(equals + 1)...]),
                let node = ForwardedFor.node(value)
            else { return nil }
            found = node
        }
        node = found ?? ForwardedFor.Node(address: nil)
    }

    private static func pairs(_ text: ArraySlice<UInt8>) -> [ArraySlice<UInt8>]? {
        var elements = ForwardedElements(text, separator: UInt8(ascii: ";"), hasQuotes: true)
        var pairs: [ArraySlice<UInt8>] = []
        while let pair = elements.popLast() { pairs.append(pair) }
        return elements.hasOpenQuote ? nil : pairs
    }

    /// Printable ASCII, blanks and tabs.
    static func isText(_ text: ArraySlice<UInt8>) -> Bool {
        text.allSatisfy { (0x20...0x7E).contains($0) || $0 == 0x09 }
    }

    /// A token, or a quoted string without escapes: an address needs none.
    private static func unquoted(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let quote = UInt8(ascii: "\"")
        guard text.first == quote else { return text.isEmpty || text.contains(quote) ? nil : text }
        let inner = text.dropFirst().dropLast()
        return text.count >= 2 && text.last == quote && !inner.contains { $0 == quote || $0 == UInt8(ascii: "\\") }
            ? inner : nil
    }
}

/// A list that is consumed from the right, where the nearest proxy appended its element.
///
/// It is split at bytes, never at `Character`s: a client could end its own element with a scalar that combines with the
/// following separator (U+0600), and so hide the proxy's element in its own. For the same reason quotes are matched
/// from the right: an unclosed quote of the client affects only its own element.
struct ForwardedElements {
    private var rest: ArraySlice<UInt8>?
    private let separator: UInt8
    private let hasQuotes: Bool
    /// The last element that was taken, the first of the text, contains an unclosed quote.
    private(set) var hasOpenQuote = false

    /// - Parameter hasQuotes: whether separators within quoted strings are ignored.
    init(_ text: ArraySlice<UInt8>, separator: UInt8, hasQuotes: Bool) {
        rest = text
        self.separator = separator
        self.hasQuotes = hasQuotes
    }

    /// The element after the last separator; all remaining text if there is no separator.
    mutating func popLast() -> ArraySlice<UInt8>? {
        guard let text = rest else { return nil }
        var isQuoted = false
        var index = text.endIndex
        while index > text.startIndex {
            index -= 1
            if hasQuotes && text[index] == UInt8(ascii: "\"") && !Self.isEscaped(index, in: text) {
                isQuoted.toggle()
            } else if !isQuoted && text[index] == separator {
                rest = text[..<index]
                return text[(index + 1)...]
            }
        }
        rest = nil
        hasOpenQuote = isQuoted
        return text
    }

    /// An odd number of backslashes precedes it.
    private static func isEscaped(_ index: Int, in bytes: ArraySlice<UInt8>) -> Bool {
        bytes[..<index].reversed().prefix { $0 == UInt8(ascii: "\\") }.count % 2 == 1
    }
}
