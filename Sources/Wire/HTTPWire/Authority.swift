import WireText

/// `uri-host [ ":" port ]` (RFC 9110 §7.2): the value of a Host field, and the authority of a request target.
enum Authority {
    private static let maximumPortDigits = 5
    private static let maximumPort = 65_535

    /// An empty host is refused (RFC 9110 §4.2.1), and so is user information, which §4.2.4 warns about. An empty port
    /// is allowed (RFC 3986 §3.2.3).
    static func isValid(_ text: Span<UInt8>, requiringPort: Bool = false) -> Bool {
        guard let hostEnd = hostEnd(in: text) else { return false }
        guard hostEnd < text.count else { return !requiringPort }
        let port = text.extracting((hostEnd + 1)...)
        return text[hostEnd] == Byte.colon && isPort(port) && !(requiringPort && port.isEmpty)
    }

    /// - Returns: nil if the host isn't valid.
    private static func hostEnd(in text: Span<UInt8>) -> Int? {
        guard !text.isEmpty else { return nil }
        if text[0] == UInt8(ascii: "[") {
            var end = 1
            while end < text.count, text[end] != UInt8(ascii: "]") { end += 1 }
            guard end < text.count, isIPv6(text.extracting(1..<end)) else { return nil }
            return end + 1
        }
        var end = 0
        while end < text.count, text[end] != Byte.colon { end += 1 }
        // An IPv4 address is a valid registered name too.
        guard end > 0, text.extracting(..<end).isEscapedText(of: .registeredName) else { return nil }
        return end
    }

    private static func isPort(_ digits: Span<UInt8>) -> Bool {
        guard digits.count <= maximumPortDigits else { return false }
        var port = 0
        for index in digits.indices {
            guard ASCIIByte.isDigit(digits[index]) else { return false }
            port = port * 10 + Int(digits[index] - UInt8(ascii: "0"))
        }
        return port <= maximumPort
    }

    /// RFC 3986 §3.2.2, without zones and the unused `IPvFuture`.
    static func isIPv6(_ text: Span<UInt8>) -> Bool {
        var index = 0
        var groups = 0
        var hasGap = false
        if text.count >= 2, text[0] == Byte.colon, text[1] == Byte.colon {
            hasGap = true
            index = 2
        }
        while index < text.count {
            let start = index
            while index < text.count, Hexadecimal.value(of: text[index]) != nil { index += 1 }
            if index < text.count, text[index] == UInt8(ascii: ".") {
                guard isIPv4(text.extracting(start...)) else { return false }
                groups += 2
                break
            }
            guard (1...4).contains(index - start) else { return false }
            groups += 1
            guard index < text.count else { break }
            guard text[index] == Byte.colon, index + 1 < text.count else { return false }
            index += 1
            if text[index] == Byte.colon {
                guard !hasGap else { return false }
                hasGap = true
                index += 1
            }
        }
        return hasGap ? groups < 8 : groups == 8
    }

    /// Four numbers from 0 to 255, without leading zeros.
    private static func isIPv4(_ text: Span<UInt8>) -> Bool {
        var octets = 0
        var index = 0
        while index < text.count {
            let start = index
            var octet = 0
            while index < text.count, index - start < 3, ASCIIByte.isDigit(text[index]) {
                octet = octet * 10 + Int(text[index] - UInt8(ascii: "0"))
                index += 1
            }
            let digits = index - start
            guard digits > 0, octet <= 255, digits == 1 || text[start] != UInt8(ascii: "0") else { return false }
            octets += 1
            guard index < text.count else { break }
            guard text[index] == UInt8(ascii: "."), index + 1 < text.count else { return false }
            index += 1
        }
        return octets == 4
    }
}
