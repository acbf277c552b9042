/// Parses and formats IP addresses, in one notation per family. Bytes are in network order, 4 or 16.
package enum IPAddressText {
    private static let groupCount = 8

    package static func dotted(_ bytes: [UInt8]) -> String { bytes.map(String.init).joined(separator: ".") }

    /// RFC 5952 section 4, using only hexadecimal groups, without a dotted ending: lower case, no leading zeros, the
    /// first longest run of two or more zero groups as `::`.
    package static func compressed(_ bytes: [UInt8]) -> String {
        let groups = stride(from: 0, to: bytes.count - 1, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
        let run = longestRunOfZeros(groups)
        func text(_ part: ArraySlice<UInt16>) -> String { part.map { String($0, radix: 16) }.joined(separator: ":") }
        guard run.count > 1 else { return text(groups[...]) }
        return text(groups[..<run.lowerBound]) + "::" + text(groups[run.upperBound...])
    }

    private static func longestRunOfZeros(_ groups: [UInt16]) -> Range<Int> {
        var longest = 0..<0
        var start = 0
        for (index, group) in groups.enumerated() {
            if group != 0 { start = index + 1 }
            if index + 1 - start > longest.count { longest = start..<index + 1 }
        }
        return longest
    }

    /// Four decimal numbers without leading zeros. Other notations are ambiguous: parsers disagree on their meaning.
    package static func ipv4(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let octets = parts.compactMap { decimal($0, maximumDigits: 3).flatMap(UInt8.init(exactly:)) }
        return parts.count == 4 && octets.count == 4 ? octets : nil
    }

    /// RFC 4291 section 2.2: a dotted ending is allowed, a zone isn't.
    package static func ipv6(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        let colon = UInt8(ascii: ":")
        guard let gap = text.indices.first(where: { text[$0...].starts(with: [colon, colon]) }) else {
            return groups(text).flatMap { $0.count == 2 * groupCount ? $0 : nil }
        }
        let after = text[gap...].dropFirst(2)
        guard let head = text[..<gap].isEmpty ? [] : groups(text[..<gap], mayEndDotted: false),
            let tail = after.isEmpty ? [] : groups(after)
        else { return nil }
        let missing = 2 * groupCount - head.count - tail.count
        // `::` replaces at least one group.
        return missing >= 2 ? head + [UInt8](repeating: 0, count: missing) + tail : nil
    }

    private static func groups(_ text: ArraySlice<UInt8>, mayEndDotted: Bool = true) -> [UInt8]? {
        let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count <= groupCount else { return nil }
        var bytes: [UInt8] = []
        for (index, part) in parts.enumerated() {
            if let group = hexadecimal(part) {
                bytes += [UInt8(group >> 8), UInt8(group & 0xff)]
            } else if mayEndDotted, index == parts.count - 1, let octets = ipv4(part) {
                bytes += octets
            } else {
                return nil
            }
        }
        return bytes
    }

    /// One to four digits, upper or lower case.
    private static func hexadecimal(_ digits: ArraySlice<UInt8>) -> UInt16? {
        guard (1...4).contains(digits.count) else { return nil }
        var number: UInt16 = 0
        for digit in digits {
            guard let value = Hexadecimal.value(of: digit) else { return nil }
            number = number << 4 | UInt16(value)
        }
        return number
    }

    /// A number without leading zeros.
    package static func decimal(_ digits: ArraySlice<UInt8>, maximumDigits: Int) -> Int? {
        guard (1...maximumDigits).contains(digits.count), digits.count == 1 || digits.first != UInt8(ascii: "0") else {
            return nil
        }
        var number = 0
        for digit in digits {
            guard ASCIIByte.isDigit(digit) else { return nil }
            number = number * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return number
    }
}
