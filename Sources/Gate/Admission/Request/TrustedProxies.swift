package import WireText

/// The operator's proxies, and the header in which they report the client's address.
package struct TrustedProxies: Hashable, Sendable {
    /// `TRUSTED_PROXY_HEADER`
    package enum Header: String, Sendable, CaseIterable {
        case xForwardedFor = "x-forwarded-for"
        /// RFC 7239.
        case forwarded
    }

    package var ranges: [AddressRange]
    package var header: Header

    package init(_ ranges: [AddressRange] = [], header: Header = .xForwardedFor) {
        self.ranges = ranges
        self.header = header
    }

    /// Whether `peer` is one of them. Malformed input on such a connection can't be attributed to a client.
    package func contains(_ peer: IPAddress) -> Bool { ranges.contains { $0.contains(peer) } }

    /// The client of a request. Only the configured header is read.
    ///
    /// - Parameter field: a header's value by its lower-case name; nil where it is absent.
    package func client(of peer: IPAddress, _ field: (String) -> String?) -> IPAddress {
        let value = field(header.rawValue)
        let forwarded =
            switch header {
            case .xForwardedFor: ForwardedFor(xForwardedFor: value)
            case .forwarded: ForwardedFor(forwarded: value)
            }
        return forwarded.client(of: peer, trusted: ranges)
    }
}
