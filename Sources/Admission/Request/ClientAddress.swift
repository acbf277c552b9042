import WireText

/// The address a client comes from. An IPv4 address written as IPv6 (`::ffff:192.0.2.1`, RFC 4291 section 2.5.5.2) is the IPv4
/// address: a dual-stack socket must not give one client two identities.
package struct ClientAddress: Hashable, Sendable {
    private enum Value: Hashable {
        case v4(UInt32)
        case v6(high: UInt64, low: UInt64)
    }

    private let value: Value

    package init(ipv4 octets: (UInt8, UInt8, UInt8, UInt8)) {
        value = .v4([octets.0, octets.1, octets.2, octets.3].reduce(0) { $0 << 8 | UInt32($1) })
    }

    /// - Parameter bytes: exactly 16, in network order; otherwise `nil`.
    package init?(ipv6 bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        let high = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let low = bytes.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let isMapped = high == 0 && low >> 32 == 0xffff
        value = isMapped ? .v4(UInt32(truncatingIfNeeded: low)) : .v6(high: high, low: low)
    }

    /// Dotted IPv4 or the forms of RFC 4291 section 2.2; neither zone nor port.
    package init?(text: String) {
        let text = Array(text.utf8)[...]
        if let octets = IPAddressText.ipv4(text) {
            self.init(ipv4: (octets[0], octets[1], octets[2], octets[3]))
        } else if let bytes = IPAddressText.ipv6(text) {
            self.init(ipv6: bytes)
        } else {
            return nil
        }
    }

    /// Dotted for IPv4, RFC 5952 for IPv6.
    package var text: String {
        switch value {
        case .v4: IPAddressText.dotted(bytes)
        case .v6: IPAddressText.compressed(bytes)
        }
    }

    /// 4 for IPv4, 16 for IPv6, in network order.
    package var bytes: [UInt8] {
        switch value {
        case .v4(let number): bigEndianBytes(number)
        case .v6(let high, let low): bigEndianBytes(high) + bigEndianBytes(low)
        }
    }

    package var prefix: AddressPrefix {
        switch value {
        case .v4(let number): AddressPrefix(network: .v4(number))
        case .v6(let high, _): AddressPrefix(network: .v6(high))
        }
    }
}

/// The unit that limits count by: an IPv4 address (/32), or an IPv6 /64, the smallest network that a subscriber gets.
package struct AddressPrefix: Hashable, Sendable {
    enum Network: Hashable {
        case v4(UInt32)
        case v6(UInt64)
    }

    let network: Network

    /// `192.0.2.1/32` or `2001:db8::/64`.
    package var text: String {
        switch network {
        case .v4(let number): IPAddressText.dotted(bigEndianBytes(number)) + "/32"
        case .v6(let high): IPAddressText.compressed(bigEndianBytes(high) + bigEndianBytes(UInt64(0))) + "/64"
        }
    }

    /// `192.0.2.1` or `2001:db8::/64`: the plain address if the prefix is a single address, as in other log lines.
    package var textForLog: String {
        switch network {
        case .v4(let number): IPAddressText.dotted(bigEndianBytes(number))
        case .v6: text
        }
    }
}

/// In network order.
private func bigEndianBytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    stride(from: Number.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
}
