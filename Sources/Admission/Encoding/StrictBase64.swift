/// Base 64 (RFC 4648 sections 4 and 5) in exactly one reading: one alphabet, padded in full or not at all, no foreign characters,
/// unused bits zero. Nobody can write the same bytes in a second way within one alphabet.
enum StrictBase64 {
    /// - Parameter maximumBytes: more than that is refused before anything is decoded.
    static func decode(_ text: String, maximumBytes: Int) -> [UInt8]? {
        let characters = text.utf8
        guard characters.count <= (maximumBytes + 2) / 3 * 4, let digits = withoutPadding(characters),
            digits.count % 4 != 1, usesOneAlphabet(digits)
        else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count * 3 / 4)
        var bits: UInt32 = 0
        var pending = 0
        for character in digits {
            guard let digit = value(of: character) else { return nil }
            bits = (bits << 6 | digit) & 0xfff
            pending += 6
            if pending >= 8 {
                pending -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(pending)))
            }
        }
        let unused = bits & (1 << UInt32(pending) - 1)
        return unused == 0 && bytes.count <= maximumBytes ? bytes : nil
    }

    private static func withoutPadding(_ characters: String.UTF8View) -> Substring.UTF8View? {
        let digits = characters.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard digits > 0 else { return characters[...] }
        return characters.count % 4 == 0 && digits <= 2 ? characters.dropLast(digits) : nil
    }

    private static func usesOneAlphabet(_ digits: Substring.UTF8View) -> Bool {
        let isStandard = digits.contains { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "/") }
        let isURLSafe = digits.contains { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
        return !(isStandard && isURLSafe)
    }

    private static func value(of character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
