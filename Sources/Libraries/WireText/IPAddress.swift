/// An IPv4 or IPv6 address.
///
/// An IPv4 address written as IPv6 (`::ffff:192.0.2.1`, RFC 4291 section 2.5.5.2) becomes the IPv4 address: a
/// dual-stack socket must not give one client two identities. Only ``init(unconverted:)`` keeps it as it is.
package struct IPAddress: Hashable, Sendable {
    private enum Value: Hashable {
        case v4(UInt32)
        case v6(high: UInt64, low: UInt64)
    }

    private let value: Value

    package init(ipv4 octets: (UInt8, UInt8, UInt8, UInt8)) {
        value = .v4([octets.0, octets.1, octets.2, octets.3].reduce(0) { $0 << 8 | UInt32($1) })
    }

    /// - Parameter bytes: exactly 4 or 16, in network order; otherwise `nil`.
    package init?(bytes: [UInt8]) {
        self.init(unconverted: bytes)
        if case .v6(0, let low) = value, low >> 32 == 0xffff {
            self.init(unconverted: Array(bytes.suffix(4)))
        }
    }

    /// The address as it is written. A host that a client names must not become another address than the one that was
    /// checked.
    ///
    /// - Parameter bytes: exactly 4 or 16, in network order; otherwise `nil`.
    package init?(unconverted bytes: [UInt8]) {
        func number<Number: FixedWidthInteger>(_ bytes: ArraySlice<UInt8>) -> Number {
            bytes.reduce(0) { $0 << 8 | Number($1) }
        }
        switch bytes.count {
        case 4: value = .v4(number(bytes[...]))
        case 16: value = .v6(high: number(bytes[..<8]), low: number(bytes[8...]))
        default: return nil
        }
    }

    /// Dotted IPv4 or the forms of RFC 4291 section 2.2; neither zone nor port.
    package init?(text: String) {
        let text = Array(text.utf8)[...]
        guard let bytes = IPAddressText.ipv4(text) ?? IPAddressText.ipv6(text) else { return nil }
        self.init(bytes: bytes)
    }

    package var isIPv4: Bool {
        switch value {
        case .v4: true
        case .v6: false
        }
    }

    /// Dotted for IPv4, RFC 5952 for IPv6.
    package var text: String { isIPv4 ? IPAddressText.dotted(bytes) : IPAddressText.compressed(bytes) }

    /// 4 for IPv4, 16 for IPv6, in network order.
    package var bytes: [UInt8] {
        switch value {
        case .v4(let number): bigEndianBytes(number)
        case .v6(let high, let low): bigEndianBytes(high) + bigEndianBytes(low)
        }
    }

    /// 16 bytes; an IPv4 address in its mapped form.
    package var ipv6Bytes: [UInt8] { isIPv4 ? [UInt8](repeating: 0, count: 10) + [0xff, 0xff] + bytes : bytes }

    package var prefix: AddressPrefix {
        switch value {
        case .v4(let number): AddressPrefix(network: .v4(number))
        case .v6(let high, _): AddressPrefix(network: .v6(high))
        }
    }

    /// The IPv6 /48 of the address, as its first /64: the network of a site. An IPv4 address is its own.
    package var network48: AddressPrefix {
        switch value {
        case .v4: prefix
        case .v6(let high, _): AddressPrefix(network: .v6(high & 0xFFFF_FFFF_FFFF_0000))
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

/// One end of a TCP connection.
package struct SocketAddress: Hashable, Sendable {
    package let address: IPAddress
    package let port: UInt16

    package init(_ address: IPAddress, port: UInt16) {
        self.address = address
        self.port = port
    }

    /// - Parameter bytes: exactly 4 or 16, in network order; otherwise `nil`.
    package init?(bytes: [UInt8], port: UInt16) {
        guard let address = IPAddress(bytes: bytes) else { return nil }
        self.init(address, port: port)
    }
}

/// In network order.
private func bigEndianBytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    stride(from: Number.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
}

/// A network in CIDR notation, `192.0.2.0/24` or `2001:db8::/32` (RFC 4632 section 3.1, RFC 4291 section 2.3). A single
/// address is a range of one.
package struct AddressRange: Hashable, Sendable {
    /// In network order: 4 bytes, or 16.
    package let network: [UInt8]
    package let bits: Int

    /// - Parameter text: bits after the prefix must be zero, because `10.0.0.5/8` is probably a mistake. Ranges of
    ///   IPv4-mapped addresses are refused: such addresses are treated as IPv4 and must be written as IPv4.
    package init?(_ text: String) {
        let parts = text.splitAtBytes { $0 == UInt8(ascii: "/") }
        guard (1...2).contains(parts.count), let address = Self.bytes(of: parts[0]) else { return nil }
        let width = 8 * address.count
        guard let bits = parts.count == 1 ? width : Self.length(parts[1]), bits <= width,
            (bits..<width).allSatisfy({ !Self.bit($0, of: address) })
        else { return nil }
        network = address
        self.bits = bits
    }

    /// `0.0.0.0/0` or `::/0`.
    package var isEverything: Bool { bits == 0 }

    package func contains(_ address: IPAddress) -> Bool {
        let bytes = address.bytes
        guard bytes.count == network.count else { return false }
        return (0..<bits).allSatisfy { Self.bit($0, of: bytes) == Self.bit($0, of: network) }
    }

    /// The ranges of a list separated by commas or blanks; `nil` if any element isn't a range.
    package static func list(_ text: String) -> [AddressRange]? {
        let parts = text.splitAtBytes { $0 == UInt8(ascii: ",") || ASCIIByte.isWhiteSpace($0) }
            .filter { !$0.isEmpty }
        let ranges = parts.compactMap { AddressRange(String($0)) }
        return ranges.count == parts.count ? ranges : nil
    }

    private static func bytes(of text: Substring) -> [UInt8]? {
        let text = Array(text.utf8)[...]
        if let octets = IPAddressText.ipv4(text) { return octets }
        guard let bytes = IPAddressText.ipv6(text), IPAddress(bytes: bytes)?.isIPv4 == false else { return nil }
        return bytes
    }

    private static func length(_ text: Substring) -> Int? {
        let isPlain = (1...3).contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        return isPlain && (text.utf8.count == 1 || text.utf8.first != UInt8(ascii: "0")) ? Int(text) : nil
    }

    private static func bit(_ index: Int, of bytes: [UInt8]) -> Bool {
        bytes[index / 8] & (0x80 >> UInt8(index % 8)) != 0
    }
}
