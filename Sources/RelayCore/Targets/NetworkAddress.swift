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
    package var text: String {
        guard !isIPv4 else { return bytes.map(String.init).joined(separator: ".") }
        let groups = stride(from: 0, to: 15, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
        let run = Self.longestRunOfZeros(groups)
        func hex(_ part: ArraySlice<UInt16>) -> String { part.map { String($0, radix: 16) }.joined(separator: ":") }
        guard run.count > 1 else { return hex(groups[...]) }
        return hex(groups[..<run.lowerBound]) + "::" + hex(groups[run.upperBound...])
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

    /// RFC 4291 section 2.2, without a zone.
    static func ipv6(_ text: ArraySlice<UInt8>) -> NetworkAddress? {
        let colon = UInt8(ascii: ":")
        guard let gap = text.indices.first(where: { text[$0...].starts(with: [colon, colon]) }) else {
            return groups(text, mayEndDotted: true).flatMap { $0.count == 16 ? NetworkAddress(bytes: $0) : nil }
        }
        let after = text[gap...].dropFirst(2)
        guard let head = text[..<gap].isEmpty ? [] : groups(text[..<gap], mayEndDotted: false),
            let tail = after.isEmpty ? [] : groups(after, mayEndDotted: true)
        else { return nil }
        // `::` stands for one group at least.
        guard head.count + tail.count <= 14 else { return nil }
        return NetworkAddress(bytes: head + [UInt8](repeating: 0, count: 16 - head.count - tail.count) + tail)
    }

    private static func groups(_ text: ArraySlice<UInt8>, mayEndDotted: Bool) -> [UInt8]? {
        let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count <= 8 else { return nil }
        var bytes: [UInt8] = []
        for (index, part) in parts.enumerated() {
            if let group = group(part) {
                bytes += [UInt8(group >> 8), UInt8(group & 0xff)]
            } else if mayEndDotted, index == parts.count - 1, let octets = dotted(part) {
                bytes += octets
            } else {
                return nil
            }
        }
        return bytes
    }

    private static func group(_ digits: ArraySlice<UInt8>) -> UInt16? {
        guard (1...4).contains(digits.count) else { return nil }
        var number: UInt16 = 0
        for digit in digits {
            guard let value = Character(Unicode.Scalar(digit)).hexDigitValue else { return nil }
            number = number << 4 | UInt16(value)
        }
        return number
    }

    /// Inside an IPv6 address there is one notation only: four decimal numbers without leading zeros.
    private static func dotted(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let octets = parts.compactMap { part -> UInt8? in
            guard (1...3).contains(part.count), part.count == 1 || part.first != UInt8(ascii: "0"),
                part.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
            else { return nil }
            return UInt8(String(decoding: part, as: UTF8.self))
        }
        return parts.count == 4 && octets.count == 4 ? octets : nil
    }
}
