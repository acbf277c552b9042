/// What stands before the first byte of a proxied connection: whose it really is (the PROXY protocol of HAProxy, `proxy-protocol.txt`).
package struct ProxyHeader: Hashable, Sendable {
    package enum Command: Hashable, Sendable {
        /// The proxy's own connection, a health check: it names nobody.
        case local
        /// A connection on somebody's behalf.
        case proxy
    }

    /// The two ends of the connection between the client and the proxy. There is never one without the other.
    package struct Endpoints: Hashable, Sendable {
        package let source: ProxyAddress
        package let destination: ProxyAddress

        package init(source: ProxyAddress, destination: ProxyAddress) {
            self.source = source
            self.destination = destination
        }

        /// A header has one family for both ends. Where they differ both are IPv6, the IPv4 one in its mapped form: an address is never
        /// named by another one of the right family.
        var areIPv4: Bool { source.isIPv4 && destination.isIPv4 }
    }

    package let command: Command
    /// `nil`: not known (`UNKNOWN`, `AF_UNSPEC`), and always for ``Command/local``. The connection's own addresses hold then.
    package let endpoints: Endpoints?
    /// Version 2 alone carries them. In a parsed header: as they came, without padding (NOOP) and without the checksum, which is
    /// checked by then.
    package let tlvs: [ProxyTLV]

    package static let local = ProxyHeader(command: .local, endpoints: nil, tlvs: [])

    /// - Parameter endpoints: `nil`: a connection on behalf of somebody whose address can't be told.
    package init(endpoints: Endpoints?, tlvs: [ProxyTLV] = []) {
        self.init(command: .proxy, endpoints: endpoints, tlvs: tlvs)
    }

    package init(source: ProxyAddress, destination: ProxyAddress, tlvs: [ProxyTLV] = []) {
        self.init(endpoints: Endpoints(source: source, destination: destination), tlvs: tlvs)
    }

    private init(command: Command, endpoints: Endpoints?, tlvs: [ProxyTLV]) {
        self.command = command
        self.endpoints = endpoints
        self.tlvs = tlvs
    }

    package var source: ProxyAddress? { endpoints?.source }
    package var destination: ProxyAddress? { endpoints?.destination }

    /// The value of the first TLV of this type.
    package func value(of type: ProxyTLV.Kind) -> [UInt8]? { tlvs.first { $0.type == type.rawValue }?.value }
}
