package import WireText

/// The header before the first byte of a proxied connection, which names the real client (the PROXY protocol of HAProxy,
/// `proxy-protocol.txt`).
package struct ProxyHeader: Hashable, Sendable {
    package enum Command: Hashable, Sendable {
        /// The proxy's own connection, such as a health check. It names no client.
        case local
        /// A connection on behalf of a client.
        case proxy
    }

    /// The two ends of the connection between the client and the proxy. Both are always present.
    package struct Endpoints: Hashable, Sendable {
        package let source: SocketAddress
        package let destination: SocketAddress

        package init(source: SocketAddress, destination: SocketAddress) {
            self.source = source
            self.destination = destination
        }

        /// A header has one address family for both ends. If they differ, both are written as IPv6, the IPv4 address in its mapped form, so
        /// no address changes its meaning.
        var areIPv4: Bool { source.address.isIPv4 && destination.address.isIPv4 }
    }

    package let command: Command
    /// `nil` if unknown (`UNKNOWN`, `AF_UNSPEC`), and always for ``Command/local``. The connection's own addresses apply then.
    package let endpoints: Endpoints?
    /// Only version 2 has TLVs. In a parsed header they are as received, without padding (NOOP) and without the checksum, which has been
    /// verified.
    package let tlvs: [ProxyTLV]

    package static let local = ProxyHeader(command: .local, endpoints: nil, tlvs: [])

    /// - Parameter endpoints: `nil` if the client's address is unknown.
    package init(endpoints: Endpoints?, tlvs: [ProxyTLV] = []) {
        self.init(command: .proxy, endpoints: endpoints, tlvs: tlvs)
    }

    package init(source: SocketAddress, destination: SocketAddress, tlvs: [ProxyTLV] = []) {
        self.init(endpoints: Endpoints(source: source, destination: destination), tlvs: tlvs)
    }

    private init(command: Command, endpoints: Endpoints?, tlvs: [ProxyTLV]) {
        self.command = command
        self.endpoints = endpoints
        self.tlvs = tlvs
    }

    package var source: SocketAddress? { endpoints?.source }
    package var destination: SocketAddress? { endpoints?.destination }

    /// The value of the first TLV of this type.
    package func value(of type: ProxyTLV.Kind) -> [UInt8]? { tlvs.first { $0.type == type.rawValue }?.value }
}
