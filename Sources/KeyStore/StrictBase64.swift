/// Strict base 64 (RFC 4648 sections 4 and 5): one alphabet, full padding or none, no other characters, unused bits zero. Within one
/// alphabet, only padding can vary for the same bytes.
package enum StrictBase64 {
    /// - Parameter maximumBytes: longer input is refused before decoding.
    package static func decode(_ text: String, maximumBytes: Int) -> [UInt8]? {
        let count = text.utf8.count
        guard count <= (maximumBytes + 2) / 3 * 4 else { return nil }
        var reading = Reading(capacity: count * 3 / 4)
        for character in text.utf8 {
            guard reading.take(character) else { return nil }
        }
        guard reading.isComplete(count: count), reading.bytes.count <= maximumBytes else { return nil }
        return reading.bytes
    }

    /// With padding, in the standard alphabet.
    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var bits: UInt32 = 0
        var pending = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            pending += 8
            while pending >= 6 {
                pending -= 6
                text.append(symbols[Int(bits >> UInt32(pending) & 0x3f)])
            }
        }
        if pending > 0 { text.append(symbols[Int(bits << UInt32(6 - pending) & 0x3f)]) }
        while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
        return String(decoding: text, as: UTF8.self)
    }

    private static let symbols = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The state of decoding, character by character.
    private struct Reading {
        private(set) var bytes: [UInt8] = []
        private var bits: UInt32 = 0
        private var pending = 0
        private var padding = 0
        private var isStandard = false
        private var isURLSafe = false

        init(capacity: Int) { bytes.reserveCapacity(capacity) }

        /// False for a character that isn't allowed at this position.
        mutating func take(_ character: UInt8) -> Bool {
            if character == UInt8(ascii: "=") {
                padding += 1
                return true
            }
            guard padding == 0, let digit = value(of: character) else { return false }
            bits = (bits << 6 | digit) & 0xfff
            pending += 6
            if pending >= 8 {
                pending -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(pending)))
            }
            return true
        }

        func isComplete(count: Int) -> Bool {
            guard !(isStandard && isURLSafe), bits & (1 << UInt32(pending) - 1) == 0 else { return false }
            return padding == 0 ? count % 4 != 1 : padding <= 2 && count % 4 == 0
        }

        private mutating func value(of character: UInt8) -> UInt32? {
            switch character {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): return UInt32(character - UInt8(ascii: "A"))
            case UInt8(ascii: "a")...UInt8(ascii: "z"): return UInt32(character - UInt8(ascii: "a")) + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): return UInt32(character - UInt8(ascii: "0")) + 52
            case UInt8(ascii: "+"), UInt8(ascii: "/"): isStandard = true
            case UInt8(ascii: "-"), UInt8(ascii: "_"): isURLSafe = true
            default: return nil
            }
            return character == UInt8(ascii: "+") || character == UInt8(ascii: "-") ? 62 : 63
        }
    }
}
