/// Random bytes for tokens, identifiers and keys.
///
/// Each number of the system's generator is a system call, which costs about as much as a small allocation. So it is
/// asked for eight bytes at a time: a token of 32 bytes takes four calls.
package enum RandomBytes {
    private static let wordBytes = 8

    /// Bytes from the system's generator, which is cryptographically secure (`getrandom`).
    ///
    /// - Parameter count: the number of bytes; 0 or more.
    package static func make(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return make(count, using: &generator)
    }

    /// - Parameter generator: must be cryptographically secure, like the system's; tests give one with a seed.
    package static func make(_ count: Int, using generator: inout some RandomNumberGenerator) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            var word: UInt64 = generator.next()
            for _ in 0..<min(wordBytes, count - bytes.count) {
                bytes.append(UInt8(truncatingIfNeeded: word))
                word >>= 8
            }
        }
        return bytes
    }
}
