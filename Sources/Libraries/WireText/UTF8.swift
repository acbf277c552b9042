/// What the first byte of a UTF-8 sequence says about the rest (RFC 3629 section 4; Unicode table 3-7).
package struct UTF8Lead {
    /// Bytes of the whole sequence, 1 to 4.
    package let length: Int
    /// The range of the second byte. It excludes overlong forms, surrogates and values above U+10FFFF. All later bytes
    /// are 80…BF.
    package let second: ClosedRange<UInt8>

    @inlinable
    init(length: Int, second: ClosedRange<UInt8>) {
        self.length = length
        self.second = second
    }

    /// - Returns: nil for a byte that begins no character.
    @inlinable
    package init?(_ byte: UInt8) {
        switch byte {
        case 0x00...0x7F: self.init(length: 1, second: 0x80...0xBF)
        case 0xC2...0xDF: self.init(length: 2, second: 0x80...0xBF)
        case 0xE0: self.init(length: 3, second: 0xA0...0xBF)
        case 0xED: self.init(length: 3, second: 0x80...0x9F)
        case 0xE1...0xEF: self.init(length: 3, second: 0x80...0xBF)
        case 0xF0: self.init(length: 4, second: 0x90...0xBF)
        case 0xF1...0xF3: self.init(length: 4, second: 0x80...0xBF)
        case 0xF4: self.init(length: 4, second: 0x80...0x8F)
        default: return nil
        }
    }
}

extension ArraySlice<UInt8> {
    package var isValidUTF8: Bool {
        #if canImport(Darwin)
            // UTF8Span needs iOS 26 and macOS 26.
            var validator = UTF8Validator()
            return validator.accept(span) == count && validator.isComplete
        #else
            return (try? UTF8Span(validating: span)) != nil
        #endif
    }
}

/// Validates UTF-8 incrementally (RFC 3629 §4): no overlong forms, no surrogates, nothing above U+10FFFF.
///
/// It rejects a sequence at the first byte that can't belong to it, as RFC 6455 §8.1 requires for text messages.
package struct UTF8Validator: Sendable {
    /// The number of continuation bytes still missing.
    private var missing: UInt8 = 0
    /// The allowed range of the next continuation byte: narrower than 80…BF directly after E0, ED, F0 and F4.
    private var lowest: UInt8 = 0x80
    private var highest: UInt8 = 0xBF

    package init() {}

    /// The bytes so far end with a complete character.
    package var isComplete: Bool { missing == 0 }

    /// - Returns: the number of valid bytes at the front: all of them, or the index of the first invalid one. After an
    ///   invalid byte the validator must not be used again.
    package mutating func accept(_ bytes: Span<UInt8>) -> Int {
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if missing == 0, byte < 0x80 {
                index = Self.skipASCII(bytes, from: index)
            } else {
                guard accept(byte) else { return index }
                index &+= 1
            }
        }
        return bytes.count
    }

    /// Works in blocks of a fixed size, so that the compiler can use vector instructions.
    private static func skipASCII(_ bytes: Span<UInt8>, from start: Int) -> Int {
        var index = start
        while index &+ 32 <= bytes.count {
            var all: UInt8 = 0
            for place in 0..<32 { all |= bytes[index &+ place] }
            guard all < 0x80 else { break }
            index &+= 32
        }
        while index &+ 8 <= bytes.count {
            var all: UInt8 = 0
            for place in 0..<8 { all |= bytes[index &+ place] }
            guard all < 0x80 else { break }
            index &+= 8
        }
        while index < bytes.count, bytes[index] < 0x80 { index &+= 1 }
        return index
    }

    private mutating func accept(_ byte: UInt8) -> Bool {
        if missing > 0 {
            guard lowest <= byte, byte <= highest else { return false }
            missing &-= 1
            (lowest, highest) = (0x80, 0xBF)
            return true
        }
        guard let lead = UTF8Lead(byte) else { return false }
        missing = UInt8(lead.length - 1)
        (lowest, highest) = (lead.second.lowerBound, lead.second.upperBound)
        return true
    }
}
