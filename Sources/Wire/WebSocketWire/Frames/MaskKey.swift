/// The key of a masked frame (RFC 6455 §5.3). A client uses a new one from a strong source of randomness for each
/// frame.
package struct MaskKey: Hashable, Sendable {
    /// The key's first byte is the least significant one.
    private let word: UInt32

    package init(_ first: UInt8, _ second: UInt8, _ third: UInt8, _ fourth: UInt8) {
        word = UInt32(first) | UInt32(second) << 8 | UInt32(third) << 16 | UInt32(fourth) << 24
    }

    /// - Parameter word: four random bytes, in any order.
    package init(random word: UInt32) { self.word = word }

    package subscript(index: Int) -> UInt8 { UInt8(truncatingIfNeeded: word >> UInt32((index & 3) * 8)) }

    /// The key for the payload from byte `count` on.
    func advanced(by count: Int) -> MaskKey {
        let bits = UInt32((count & 3) * 8)
        return MaskKey(random: word >> bits | word << ((32 - bits) & 31))
    }

    /// The key, repeated four times.
    fileprivate var repeated: SIMD16<UInt8> {
        let (a, b, c, d) = (self[0], self[1], self[2], self[3])
        return SIMD16(a, b, c, d, a, b, c, d, a, b, c, d, a, b, c, d)
    }
}

/// Masks or unmasks `bytes` in place (RFC 6455 §5.3).
///
/// It works in blocks of a fixed size, each with one bounds check, in forms that the compiler vectorises: 64 bytes at a
/// time with a key of that length, which pays from 256 bytes on, otherwise 16 at a time. Run the benchmark after a
/// change here.
///
/// - Parameter offset: the number of payload bytes of the frame before `bytes`.
package func applyMask(_ key: MaskKey, offset: Int = 0, to bytes: inout MutableSpan<UInt8>) {
    let key = key.advanced(by: offset)
    guard bytes.count >= 256 else { return maskShort(key.repeated, &bytes) }
    let whole = bytes.count & ~63
    var front = bytes._mutatingExtracting(0..<whole)
    maskLong(key, &front)
    var rest = bytes._mutatingExtracting(whole..<bytes.count)
    maskShort(key.repeated, &rest)
}

/// - Parameter bytes: its count is a multiple of 64.
@inline(never)
private func maskLong(_ key: MaskKey, _ bytes: inout MutableSpan<UInt8>) {
    var pattern = InlineArray<64, UInt8>(repeating: 0)
    for place in 0..<64 { pattern[place] = key[place] }
    // `count` stays in a register, where no store to the bytes can change it.
    let count = bytes.count
    var all = bytes._mutatingExtracting(0..<count)
    var index = 0
    while index &+ 64 <= count {
        var block = all._mutatingExtracting(index..<(index &+ 64))
        for place in 0..<64 { block[place] ^= pattern[place] }
        index &+= 64
    }
}

@inline(never)
private func maskShort(_ pattern: SIMD16<UInt8>, _ bytes: inout MutableSpan<UInt8>) {
    let count = bytes.count
    var all = bytes._mutatingExtracting(0..<count)
    var index = 0
    while index &+ 16 <= count {
        var block = all._mutatingExtracting(index..<(index &+ 16))
        let masked = load(block.span) ^ pattern
        for place in 0..<16 { block[place] = masked[place] }
        index &+= 16
    }
    while index < count {
        all[index] ^= pattern[index & 15]
        index &+= 1
    }
}

/// All loads come before any store, so the compiler merges them into one.
@inline(__always)
private func load(_ block: Span<UInt8>) -> SIMD16<UInt8> {
    SIMD16(
        block[0], block[1], block[2], block[3], block[4], block[5], block[6], block[7], block[8], block[9], block[10],
        block[11], block[12], block[13], block[14], block[15])
}

/// Masks or unmasks from one buffer into the front of another, which must have room.
@inline(never)
package func applyMask(
    _ key: MaskKey, offset: Int = 0, to source: Span<UInt8>, into bytes: inout MutableSpan<UInt8>
) {
    precondition(bytes.count >= source.count, "no room for the masked bytes")
    let pattern = key.advanced(by: offset).repeated
    let count = source.count
    var all = bytes._mutatingExtracting(0..<count)
    var index = 0
    while index &+ 16 <= count {
        let from = load(source.extracting(index..<(index &+ 16)))
        let masked = from ^ pattern
        var block = all._mutatingExtracting(index..<(index &+ 16))
        for place in 0..<16 { block[place] = masked[place] }
        index &+= 16
    }
    while index < count {
        all[index] = source[index] ^ pattern[index & 15]
        index &+= 1
    }
}
