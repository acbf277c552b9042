/// One end of a TCP connection, as given in a PROXY header.
package struct ProxyAddress: Hashable, Sendable {
    /// 4 or 16, in network order.
    package let bytes: [UInt8]
    package let port: UInt16

    /// - Parameter bytes: exactly 4 (IPv4) or 16 (IPv6); otherwise the result is `nil`. An IPv4-mapped IPv6 address (`::ffff:192.0.2.1`,
    ///   RFC 4291 section 2.5.5.2) becomes the IPv4 address.
    package init?(bytes: [UInt8], port: UInt16) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes.starts(with: Self.mappedPrefix) && bytes.count == 16 ? Array(bytes.suffix(4)) : bytes
        self.port = port
    }

    package var isIPv4: Bool { bytes.count == 4 }

    /// 16 bytes; an IPv4 address in its mapped form.
    var ipv6Bytes: [UInt8] { isIPv4 ? Self.mappedPrefix + bytes : bytes }

    private static let mappedPrefix: [UInt8] = [UInt8](repeating: 0, count: 10) + [0xff, 0xff]
}
