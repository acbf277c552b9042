package import WireText

/// A host in its one normal form: two spellings of one host are equal, and the compared form is the one that is
/// dialled.
///
/// - Names: lower case, without the trailing dot. Letters, digits, hyphens and underscores in labels of 1 to 63 bytes,
///   253 in all.
/// - Names beyond ASCII are refused: mapping IDNs needs tables, and their versions differ. Write the A-label (`xn--…`).
/// - IPv4 addresses in every form that `inet_aton` accepts (`127.1`, `0x7f.1`, `0177.0.0.1`, `2130706433`) become four
///   numbers. As in the URL Standard, a host whose last label is a number is either an address or invalid, never a
///   name.
/// - IPv6 addresses with or without brackets. Zones are refused: they are meaningful on one machine only. An IPv6
///   address that contains an IPv4 address isn't converted; ``ReservedNetworks`` lists all such forms.
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
        self = .name(String(decoding: dotless.map(ASCIIByte.lowercased), as: UTF8.self))
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

/// As its text, which is in its normal form already.
extension TargetHost: Codable {
    package init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let host = TargetHost(text) else { throw CarriedStateFault() }
        self = host
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

/// A host and a port, written `mud.example.org:4000`, `192.0.2.1:4000` or `[2001:db8::1]:4000`.
package struct TargetEndpoint: Hashable, Sendable {
    package let host: TargetHost
    package let port: UInt16

    package init(host: TargetHost, port: UInt16) {
        self.host = host
        self.port = port
    }

    package init(_ endpoint: some StringProtocol) throws(TargetFault) {
        let text = Substring(endpoint)
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else { throw .portMissing }
        let name = text[..<colon]
        // Without brackets the end of an IPv6 address is ambiguous.
        guard let host = TargetHost(String(name)), !name.hasByte(UInt8(ascii: ":")) || name.hasBytePrefix("[") else {
            throw text.utf8.last == UInt8(ascii: "]") ? .portMissing : .host
        }
        self.init(host: host, port: try Self.port(text[text.utf8.index(after: colon)...]))
    }

    /// 1–65535 in decimal, without leading zeros.
    static func port(_ text: some StringProtocol) throws(TargetFault) -> UInt16 {
        let isPlain = text.utf8.allSatisfy(ASCIIByte.isDigit) && text.utf8.first != UInt8(ascii: "0")
        guard isPlain, let port = UInt16(text) else { throw .port }
        return port
    }

    package var text: String {
        guard case .address(let address) = host, !address.isIPv4 else { return "\(host.text):\(port)" }
        return "[\(host.text)]:\(port)"
    }
}

/// IPv4 addresses as `inet_aton`, and so some resolvers, read them: one to four numbers, decimal, octal (`0…`) or
/// hexadecimal (`0x…`), where the last number fills the remaining bytes. The algorithm is the IPv4 parser of the URL
/// Standard.
enum LooseIPv4 {
    /// Whether a host with this last label can only be an address: the label has only digits, or is a hexadecimal
    /// number.
    static func isNumeric(_ label: ArraySlice<UInt8>) -> Bool {
        let (digits, base) = isHexadecimal(label) ? (label.dropFirst(2), UInt64(16)) : (label, 10)
        return !label.isEmpty && digits.allSatisfy { digit($0, base: base) != nil }
    }

    static func address(_ labels: [ArraySlice<UInt8>]) -> IPAddress? {
        guard (1...4).contains(labels.count) else { return nil }
        let numbers = labels.compactMap(number)
        guard numbers.count == labels.count, let last = numbers.last, numbers.dropLast().allSatisfy({ $0 <= 0xff })
        else {
            return nil
        }
        let bytesLeft = 5 - numbers.count
        guard last >> UInt64(8 * bytesLeft) == 0 else { return nil }
        let tail = (0..<bytesLeft).reversed().map { UInt8(truncatingIfNeeded: last >> UInt64(8 * $0)) }
        return IPAddress(bytes: numbers.dropLast().map { UInt8(truncatingIfNeeded: $0) } + tail)
    }

    private static func isHexadecimal(_ label: ArraySlice<UInt8>) -> Bool {
        label.count >= 2 && label.first == UInt8(ascii: "0")
            && label.dropFirst().first.map { $0 | 0x20 } == UInt8(ascii: "x")
    }

    /// `0x` alone is 0. `nil` also for a number over 32 bits; any count of leading zeros is accepted.
    private static func number(_ label: ArraySlice<UInt8>) -> UInt64? {
        guard let first = label.first else { return nil }
        let base: UInt64
        let digits: ArraySlice<UInt8>
        if isHexadecimal(label) {
            (base, digits) = (16, label.dropFirst(2))
        } else if first == UInt8(ascii: "0"), label.count > 1 {
            (base, digits) = (8, label.dropFirst())
        } else {
            (base, digits) = (10, label)
        }
        var number: UInt64 = 0
        for byte in digits {
            guard let value = digit(byte, base: base) else { return nil }
            number = number * base + value
            guard number <= UInt64(UInt32.max) else { return nil }
        }
        return number
    }

    private static func digit(_ byte: UInt8, base: UInt64) -> UInt64? {
        let value = Hexadecimal.value(of: byte).map(UInt64.init)
        return value.flatMap { $0 < base ? $0 : nil }
    }
}
