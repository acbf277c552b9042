/// Whether bytes that arrive in pieces are UTF-8 so far (RFC 3629 §4): no overlong forms, no surrogates, nothing above U+10FFFF.
///
/// It refuses a sequence at the first byte that can't belong to it, as RFC 6455 §8.1 has it for text messages.
struct UTF8Validator {
    /// Continuation bytes that must still come.
    private var missing = 0
    /// What the next continuation byte must lie in: narrower than 80…BF right after E0, ED, F0 and F4.
    private var allowed: ClosedRange<UInt8> = 0x80...0xBF

    /// Nothing is left open: the bytes so far are whole characters.
    var isComplete: Bool { missing == 0 }

    /// - Returns: false at the first byte that is wrong; the validator is of no use after that.
    mutating func accepts(_ bytes: UnsafeRawBufferPointer) -> Bool {
        for byte in bytes {
            guard accepts(byte) else { return false }
        }
        return true
    }

    private mutating func accepts(_ byte: UInt8) -> Bool {
        if missing > 0 {
            guard allowed.contains(byte) else { return false }
            missing -= 1
            allowed = 0x80...0xBF
            return true
        }
        switch byte {
        case 0x00...0x7F: return true
        case 0xC2...0xDF: return begin(1)
        case 0xE0: return begin(2, 0xA0...0xBF)
        case 0xED: return begin(2, 0x80...0x9F)
        case 0xE1...0xEF: return begin(2)
        case 0xF0: return begin(3, 0x90...0xBF)
        case 0xF1...0xF3: return begin(3)
        case 0xF4: return begin(3, 0x80...0x8F)
        default: return false
        }
    }

    private mutating func begin(_ count: Int, _ first: ClosedRange<UInt8> = 0x80...0xBF) -> Bool {
        missing = count
        allowed = first
        return true
    }
}
