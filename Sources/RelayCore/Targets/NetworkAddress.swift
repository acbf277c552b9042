import WireText

/// An IP address as bytes.
package struct NetworkAddress: Hashable, Sendable {
    /// 4 or 16, in network order.
    package let bytes: [UInt8]

    /// - Parameter bytes: exactly 4 or 16; otherwise `nil`.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    package var isIPv4: Bool { bytes.count == 4 }

    /// Dotted for IPv4; for IPv6 the form of RFC 5952 section 4.
    package var text: String { isIPv4 ? IPAddressText.dotted(bytes) : IPAddressText.compressed(bytes) }

    /// RFC 4291 section 2.2, without a zone.
    static func ipv6(_ text: ArraySlice<UInt8>) -> NetworkAddress? {
        IPAddressText.ipv6(text).flatMap(NetworkAddress.init(bytes:))
    }
}
