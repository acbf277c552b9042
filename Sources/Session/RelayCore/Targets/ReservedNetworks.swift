/// Addresses to which a client can't connect by naming them: this machine, private networks, and everything else that
/// isn't a single host of the public internet (the IANA special-purpose address registries, RFC 6890).
///
/// IPv6 forms that contain an IPv4 address are reserved entirely, whichever address they contain: a translator on the
/// path would turn them into an address that hasn't been checked. A network-specific NAT64 prefix (RFC 6052 section
/// 2.2) can't be told from any other prefix.
package enum ReservedNetworks {
    private struct Network {
        let prefix: [UInt8]
        let bits: Int

        init(_ bits: Int, _ prefix: UInt8...) {
            self.bits = bits
            self.prefix = prefix
        }

        func contains(_ address: [UInt8]) -> Bool {
            (0..<bits).allSatisfy { bit in
                let byte = bit / 8
                let mask = UInt8(0x80) >> UInt8(bit % 8)
                return ((byte < prefix.count ? prefix[byte] : 0) ^ address[byte]) & mask == 0
            }
        }
    }

    private static let v4 = [
        Network(8, 0),  // "this network", RFC 791
        Network(8, 10),  // private, RFC 1918
        Network(10, 100, 64),  // shared by carrier NAT, RFC 6598
        Network(8, 127),  // loopback, RFC 1122
        Network(16, 169, 254),  // link-local, RFC 3927; cloud metadata
        Network(12, 172, 16),  // private, RFC 1918
        Network(24, 192, 0, 0),  // IETF protocol assignments, RFC 6890
        Network(24, 192, 0, 2),  // documentation, RFC 5737
        Network(24, 192, 88, 99),  // 6to4 relays, RFC 7526
        Network(16, 192, 168),  // private, RFC 1918
        Network(15, 198, 18),  // benchmarking, RFC 2544
        Network(24, 198, 51, 100),  // documentation, RFC 5737
        Network(24, 203, 0, 113),  // documentation, RFC 5737
        Network(4, 224),  // multicast, RFC 5771
        Network(4, 240),  // reserved and broadcast, RFC 1112
    ]

    /// Global unicast, RFC 4291 section 2.4. This excludes `::`, `::1`, IPv4-compatible and IPv4-mapped addresses,
    /// NAT64 (64:ff9b::/96, 64:ff9b:1::/48), discard-only (100::/64), unique local (fc00::/7), link-local (fe80::/10),
    /// site-local (fec0::/10) and multicast (ff00::/8).
    private static let globalUnicast = Network(3, 0x20)

    /// Reserved networks within ``globalUnicast``.
    private static let v6 = [
        // IETF protocol assignments, RFC 2928: includes Teredo (2001::/32), benchmarking (2001:2::/48), ORCHID
        // (2001:10::/28, 2001:20::/28).
        Network(23, 0x20, 0x01),
        Network(32, 0x20, 0x01, 0x0d, 0xb8),  // documentation, RFC 3849
        Network(16, 0x20, 0x02),  // 6to4, RFC 3056
        Network(20, 0x3f, 0xff),  // documentation, RFC 9637
    ]

    /// - Parameter address: in network order. Any length other than 4 or 16 bytes is reserved.
    package static func contain(_ address: [UInt8]) -> Bool {
        switch address.count {
        case 4: v4.contains { $0.contains(address) }
        case 16: !globalUnicast.contains(address) || v6.contains { $0.contains(address) }
        default: true
        }
    }
}
