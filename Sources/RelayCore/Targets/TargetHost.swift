package import WireText

/// A host in its one normal form: two spellings of one host are equal, and the compared form is the one that is dialled.
///
/// - Names: lower case, without the trailing dot. Letters, digits, hyphens and underscores in labels of 1 to 63 bytes, 253 in all.
/// - Names beyond ASCII are refused: mapping IDNs needs tables, and their versions differ. Write the A-label (`xn--…`).
/// - IPv4 addresses in every form that `inet_aton` accepts (`127.1`, `0x7f.1`, `0177.0.0.1`, `2130706433`) become four numbers. As
///   in the URL Standard, a host whose last label is a number is either an address or invalid, never a name.
/// - IPv6 addresses with or without brackets. Zones are refused: they are meaningful on one machine only. An IPv6 address that
///   contains an IPv4 address isn't converted; ``ReservedNetworks`` lists all such forms.
package enum TargetHost: Hashable, Sendable {
    case name(String)
    case address(IPAddress)

    package static let maximumBytes = 253
    package static let maximumLabelBytes = 63
    /// The longest host is a name; the longest IPv6 address in brackets has only 47 characters.
    private static let maximumInputBytes = maximumBytes + 1

    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard !bytes.isEmpty, bytes.count <= Self.maximumInputBytes, bytes.allSatisfy({ $0 < 0x80 }) else { return nil }
        let isBracketed = bytes.first == UInt8(ascii: "[") && bytes.last == UInt8(ascii: "]")
        if isBracketed || bytes.contains(UInt8(ascii: ":")) {
            let inner = isBracketed ? bytes.dropFirst().dropLast() : bytes[...]
            guard let address = IPAddressText.ipv6(inner).flatMap(IPAddress.init(unconverted:)) else { return nil }
            self = .address(address)
            return
        }
        let dotless = bytes.last == UInt8(ascii: ".") ? bytes.dropLast() : bytes[...]
        let labels = dotless.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        if let last = labels.last, LooseIPv4.isNumeric(last) {
            guard let address = LooseIPv4.address(labels) else { return nil }
            self = .address(address)
            return
        }
        guard dotless.count <= Self.maximumBytes, labels.allSatisfy(Self.isLabel) else { return nil }
        self = .name(String(decoding: dotless, as: UTF8.self).lowercased())
    }

    private static func isLabel(_ label: ArraySlice<UInt8>) -> Bool {
        let hyphen = UInt8(ascii: "-")
        return (1...maximumLabelBytes).contains(label.count) && label.first != hyphen && label.last != hyphen
            && label.allSatisfy { byte in
                ASCIIByte.isLetter(byte) || ASCIIByte.isDigit(byte) || byte == hyphen || byte == UInt8(ascii: "_")
            }
    }

    /// For the resolver and for logs; an IPv6 address is written without brackets.
    package var text: String {
        switch self {
        case .name(let name): name
        case .address(let address): address.text
        }
    }
}
