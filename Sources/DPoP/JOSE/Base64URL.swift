/// base64url without padding (RFC 7515 section 2), in exactly one form: no foreign characters, unused bits zero.
package enum Base64URL {
    private static let symbols = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let foreign: UInt8 = 0xFF
    /// The value of each byte as a symbol.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: foreign, count: 256)
        for (value, symbol) in symbols.enumerated() { values[Int(symbol)] = UInt8(value) }
        return values
    }()

    /// - Returns: nil for anything but the one text that ``encode(_:)`` writes.
    static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        let values = values
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var bits: UInt32 = 0
        var pending: UInt32 = 0
        for symbol in text {
            let value = values[Int(symbol)]
            guard value != foreign else { return nil }
            bits = bits << 6 | UInt32(value)
            pending += 6
            if pending >= 8 {
                pending -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> pending))
            }
        }
        guard bits & (1 << pending - 1) == 0 else { return nil }
        return bytes
    }

    package static func decode(_ text: String) -> [UInt8]? { decode(Array(text.utf8)[...]) }

    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        append(bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    static func append(_ bytes: some Sequence<UInt8>, to text: inout [UInt8]) {
        let symbols = symbols
        var bits: UInt32 = 0
        var pending: UInt32 = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            pending += 8
            while pending >= 6 {
                pending -= 6
                text.append(symbols[Int(bits >> pending & 0x3F)])
            }
        }
        if pending > 0 { text.append(symbols[Int(bits << (6 - pending) & 0x3F)]) }
    }
}
