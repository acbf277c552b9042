package import WireText

/// The header before the first byte of a proxied connection, which names the real client (the PROXY protocol of
/// HAProxy, `proxy-protocol.txt`).
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

        /// A header has one address family for both ends. If they differ, both are written as IPv6, the IPv4 address in
        /// its mapped form, so no address changes its meaning.
        var areIPv4: Bool { source.address.isIPv4 && destination.address.isIPv4 }
    }

    package let command: Command
    /// `nil` if unknown (`UNKNOWN`, `AF_UNSPEC`), and always for ``Command/local``. The connection's own addresses
    /// apply then.
    package let endpoints: Endpoints?
    /// Only version 2 has TLVs. In a parsed header they are as received, without padding (NOOP) and without the
    /// checksum, which has been verified.
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

/// A type-length-value field after the addresses of a version 2 header (section 2.2 of the specification).
package struct ProxyTLV: Hashable, Sendable {
    /// The known types. TLVs of other types are kept as they are.
    package enum Kind: UInt8, Sendable {
        /// The protocol that the client negotiated by ALPN (RFC 7301), in bytes.
        case alpn = 0x01
        /// The host name that the client requested, in UTF-8: the TLS SNI.
        case authority = 0x02
        case crc32c = 0x03
        /// Padding.
        case noop = 0x04
        case uniqueID = 0x05
        /// The first of the types for applications, 0xE0–0xEF. Defined by the gateway: the identity that the gate has
        /// verified, see ``ProxyTLV/identity(method:subject:)``.
        case identity = 0xe0
        /// Also the gateway's: the player's account, see ``ProxyTLV/account(_:)``.
        case account = 0xe1
    }

    package static let maximumUniqueIDBytes = 128

    package let type: UInt8
    package let value: [UInt8]

    init(type: UInt8, value: [UInt8]) {
        self.type = type
        self.value = value
    }

    /// The proxy's identifier of this connection: at most 128 bytes (section 2.2.5), otherwise `nil`.
    package static func uniqueID(_ value: [UInt8]) -> ProxyTLV? {
        value.count <= maximumUniqueIDBytes ? ProxyTLV(.uniqueID, value) : nil
    }

    /// The identity that the gate has verified, in UTF-8: the admission method and, if there is one, a colon and the
    /// subject, such as `app_attest:` with the key's identifier in base64. A target that reads it must accept it only
    /// from its gateway.
    package static func identity(method: String, subject: String?) -> ProxyTLV {
        ProxyTLV(.identity, Array((subject.map { method + ":" + $0 } ?? method).utf8))
    }

    /// The player's account, in UTF-8, whatever method has verified its client.
    package static func account(_ id: String) -> ProxyTLV { ProxyTLV(.account, Array(id.utf8)) }

    package static func authority(_ hostName: String) -> ProxyTLV { ProxyTLV(.authority, Array(hostName.utf8)) }

    package static func alpn(_ name: [UInt8]) -> ProxyTLV { ProxyTLV(.alpn, name) }

    private init(_ kind: Kind, _ value: [UInt8]) { self.init(type: kind.rawValue, value: value) }
}

/// The version in which a header is written.
package enum ProxyVersion: String, Hashable, Sendable, CaseIterable {
    case v1
    case v2
}

package enum ProxyHeaderLimits {
    /// The maximum size of a version 2 header, written or read. A header must be sent in one piece, and every TCP
    /// accepts 536 bytes in one segment (RFC 9293 section 3.7.1). With IPv6 that leaves 484 bytes for TLVs; ours need
    /// less than half. The length field would allow 65,551 bytes from a peer that is not authenticated yet.
    package static let maximumBytes = 536
    /// The maximum size of a version 1 header, from the specification.
    package static let maximumV1Bytes = ProxyHeaderV1.maximumBytes
}

extension ProxyHeader {
    /// The bytes to send before any other, in one piece.
    ///
    /// Version 1 has no TLVs and can't distinguish the proxy's own connections from those of an unknown client.
    /// - Parameter withChecksum: adds the CRC32C of version 2.
    /// - Returns: `nil` if the TLVs make it longer than ``ProxyHeaderLimits/maximumBytes``.
    package func encoded(as version: ProxyVersion, withChecksum: Bool = false) -> [UInt8]? {
        switch version {
        case .v1: ProxyHeaderV1.encode(self)
        case .v2: ProxyHeaderV2.encode(self, withChecksum: withChecksum)
        }
    }
}
