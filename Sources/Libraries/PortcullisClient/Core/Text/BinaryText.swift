/// Hexadecimal and base64url, as the two dialects write their challenges.
enum BinaryText {
    /// - Returns: nil for anything but pairs of hexadecimal digits.
    static func bytes(hexadecimal text: some StringProtocol) -> [UInt8]? {
        let digits = text.utf8.compactMap(digit)
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    private static func digit(_ symbol: UInt8) -> UInt8? {
        switch symbol {
        case 0x30...0x39: symbol - 0x30
        case 0x41...0x46: symbol - 0x37
        case 0x61...0x66: symbol - 0x57
        default: nil
        }
    }

    static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let text = bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }

    /// Without padding (RFC 7515 section 2).
    static func base64URL(_ bytes: some Sequence<UInt8>) -> String {
        text(bytes, alphabet: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", isPadded: false)
    }

    /// With padding (RFC 4648 section 4).
    static func base64(_ bytes: some Sequence<UInt8>) -> String {
        text(bytes, alphabet: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", isPadded: true)
    }

    private static func text(_ bytes: some Sequence<UInt8>, alphabet: String, isPadded: Bool) -> String {
        let symbols = Array(alphabet.utf8)
        var text: [UInt8] = []
        var bits = 0
        var kept: UInt32 = 0
        for byte in bytes {
            kept = kept << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                text.append(symbols[Int(kept >> UInt32(bits) & 63)])
            }
        }
        if bits > 0 { text.append(symbols[Int(kept << UInt32(6 - bits) & 63)]) }
        while isPadded, !text.count.isMultiple(of: 4) { text.append(UInt8(ascii: "=")) }
        return String(decoding: text, as: UTF8.self)
    }

    /// base64 and base64url, with padding or without it.
    ///
    /// - Returns: nil for anything else.
    static func bytes(base64 text: some Collection<UInt8>) -> [UInt8]? {
        let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        let symbols = text.dropLast(padding)
        guard padding <= 2, symbols.count % 4 != 1, padding == 0 || text.count.isMultiple(of: 4) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(symbols.count * 3 / 4)
        var kept: UInt32 = 0
        var bits = 0
        for symbol in symbols {
            let value = values[Int(symbol)]
            guard value < 64 else { return nil }
            kept = kept << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: kept >> UInt32(bits)))
            }
        }
        return bytes
    }

    /// The value of each symbol of both alphabets; 255 for every other byte.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, symbol) in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8.enumerated() {
            values[Int(symbol)] = UInt8(value)
        }
        values[Int(UInt8(ascii: "-"))] = 62
        values[Int(UInt8(ascii: "_"))] = 63
        return values
    }()
}
