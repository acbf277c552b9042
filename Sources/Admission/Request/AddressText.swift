/// IP addresses as text: RFC 4291 section 2.2 read, RFC 5952 written.
enum AddressText {
    /// Four decimal numbers without leading zeros (which some readers take for octal); otherwise `nil`.
    static func ipv4(_ text: Substring) -> [UInt8]? {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        let octets = parts.compactMap { part -> UInt8? in
            guard (1...3).contains(part.count), part.allSatisfy({ (0x30...0x39).contains($0) }),
                part.count == 1 || part.first != UInt8(ascii: "0")
            else { return nil }
            return UInt8(String(Substring(part)))
        }
        return octets.count == 4 ? octets : nil
    }

    /// 16 bytes, or `nil`.
    static func ipv6(_ text: String) -> [UInt8]? {
        guard text.utf8.count <= 45, text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        let halves = halves(of: text)
        guard let head = bytes(of: halves.head, mayEndDotted: halves.tail == nil) else { return nil }
        guard let tailText = halves.tail else { return head.count == 16 ? head : nil }
        guard let tail = bytes(of: tailText, mayEndDotted: true), head.count + tail.count <= 14 else { return nil }
        return head + [UInt8](repeating: 0, count: 16 - head.count - tail.count) + tail
    }

    static func dotted(_ number: UInt32) -> String {
        [24, 16, 8, 0].map { String(number >> $0 & 0xff) }.joined(separator: ".")
    }

    /// RFC 5952 section 4: lower case, no leading zeros, the first longest run of two or more zero groups as `::`.
    static func compressed(high: UInt64, low: UInt64) -> String {
        let groups = [high, low].flatMap { half in [48, 32, 16, 0].map { half >> UInt64($0) & 0xffff } }
        func hex(_ range: Range<Int>) -> String {
            groups[range].map { String($0, radix: 16) }.joined(separator: ":")
        }
        guard let run = longestZeroRun(in: groups) else { return hex(0..<8) }
        return hex(0..<run.lowerBound) + "::" + hex(run.upperBound..<8)
    }

    /// What stands before and after the first `::`. A second one makes an empty group in the tail, which is refused there.
    private static func halves(of text: String) -> (head: Substring, tail: Substring?) {
        var previous: String.Index?
        for index in text.indices {
            if text[index] == ":", let previous, text[previous] == ":" {
                return (text[..<previous], text[text.index(after: index)...])
            }
            previous = index
        }
        return (text[...], nil)
    }

    private static func bytes(of half: Substring, mayEndDotted: Bool) -> [UInt8]? {
        guard !half.isEmpty else { return [] }
        var groups = half.split(separator: ":", omittingEmptySubsequences: false)
        guard groups.count <= 8 else { return nil }
        var dotted: [UInt8] = []
        if mayEndDotted, let last = groups.last, last.contains(".") {
            guard let octets = ipv4(last) else { return nil }
            dotted = octets
            groups.removeLast()
        }
        var bytes: [UInt8] = []
        for group in groups {
            guard (1...4).contains(group.utf8.count), group.allSatisfy(\.isHexDigit),
                let value = UInt16(group, radix: 16)
            else { return nil }
            bytes += [UInt8(value >> 8), UInt8(value & 0xff)]
        }
        return bytes + dotted
    }

    private static func longestZeroRun(in groups: [UInt64]) -> Range<Int>? {
        var best: Range<Int>?
        var start = 0
        while start < groups.count {
            let end = groups[start...].firstIndex { $0 != 0 } ?? groups.count
            if end - start >= 2, end - start > (best?.count ?? 0) { best = start..<end }
            start = end + 1
        }
        return best
    }
}
