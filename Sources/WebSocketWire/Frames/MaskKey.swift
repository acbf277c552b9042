/// The key of a masked frame (RFC 6455 §5.3). A client takes a fresh one from a strong source of randomness for each frame.
package struct MaskKey: Hashable, Sendable {
    /// The key's first byte is the lowest one.
    private let word: UInt32

    package init(_ first: UInt8, _ second: UInt8, _ third: UInt8, _ fourth: UInt8) {
        word = UInt32(first) | UInt32(second) << 8 | UInt32(third) << 16 | UInt32(fourth) << 24
    }

    /// - Parameter word: four random bytes; any order will do.
    package init(random word: UInt32) { self.word = word }

    package subscript(index: Int) -> UInt8 { UInt8(truncatingIfNeeded: word >> UInt32((index & 3) * 8)) }

    /// The key as it applies from the payload's byte `count` on.
    func advanced(by count: Int) -> MaskKey {
        let bits = UInt32((count & 3) * 8)
        return MaskKey(random: word >> bits | word << ((32 - bits) & 31))
    }

    /// The key four times over.
    fileprivate var repeated: SIMD16<UInt8> {
        let (a, b, c, d) = (self[0], self[1], self[2], self[3])
        return SIMD16(a, b, c, d, a, b, c, d, a, b, c, d, a, b, c, d)
    }
}

/// Masks or unmasks `bytes` in place (RFC 6455 §5.3).
///
/// It goes in blocks of a fixed size whose span is checked once: the compiler then turns each into vector instructions.
///
/// - Parameter offset: how many bytes of the frame's payload come before `bytes`.
package func applyMask(_ key: MaskKey, offset: Int = 0, to bytes: inout MutableSpan<UInt8>) {
    let pattern = key.advanced(by: offset).repeated
    let count = bytes.count
    var index = 0
    while index &+ 64 <= count {
        var block = bytes._mutatingExtracting(index..<(index &+ 64))
        for place in 0..<64 { block[place] ^= pattern[place & 15] }
        index &+= 64
    }
    while index &+ 16 <= count {
        var block = bytes._mutatingExtracting(index..<(index &+ 16))
        for place in 0..<16 { block[place] ^= pattern[place] }
        index &+= 16
    }
    while index < count {
        bytes[index] ^= pattern[index & 15]
        index &+= 1
    }
}

/// The same, from one buffer into the front of another, which must have room.
package func applyMask(
    _ key: MaskKey, offset: Int = 0, to source: Span<UInt8>, into bytes: inout MutableSpan<UInt8>
) {
    precondition(bytes.count >= source.count, "no room for the masked bytes")
    let pattern = key.advanced(by: offset).repeated
    let count = source.count
    var index = 0
    while index &+ 16 <= count {
        let from = source.extracting(index..<(index &+ 16))
        var block = bytes._mutatingExtracting(index..<(index &+ 16))
        for place in 0..<16 { block[place] = from[place] ^ pattern[place] }
        index &+= 16
    }
    while index < count {
        bytes[index] = source[index] ^ pattern[index & 15]
        index &+= 1
    }
}
