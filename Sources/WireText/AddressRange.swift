/// A network in CIDR notation, `192.0.2.0/24` or `2001:db8::/32` (RFC 4632 section 3.1, RFC 4291 section 2.3). A single address is a range
/// of one.
package struct AddressRange: Hashable, Sendable {
    /// In network order: 4 bytes, or 16.
    package let network: [UInt8]
    package let bits: Int

    /// - Parameter text: bits after the prefix must be zero, because `10.0.0.5/8` is probably a mistake. Ranges of IPv4-mapped addresses
    ///   are refused: such addresses are treated as IPv4 and must be written as IPv4.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
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
        let parts = text.split { $0 == "," || $0.isWhitespace }
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
        return isPlain && (text.utf8.count == 1 || text.first != "0") ? Int(text) : nil
    }

    private static func bit(_ index: Int, of bytes: [UInt8]) -> Bool {
        bytes[index / 8] & (0x80 >> UInt8(index % 8)) != 0
    }
}
