/// The curve of Ed25519 (RFC 8032, section 5.1): −x² + y² = 1 + d·x²·y² modulo p = 2^255 − 19.
///
/// BoringSSL looks for the point of a key when it verifies a signature, and not before.
enum EdwardsCurve {
    /// −121665 / 121666 modulo p.
    private static let d = FieldNumber(
        0x75EB_4DCA_1359_78A3, 0x0070_0A4D_4141_D8AB, 0x8CC7_4079_7779_E898, 0x5203_6CEE_2B6F_FE73)
    private static let one = FieldNumber(1, 0, 0, 0)
    private static let minusOne = FieldNumber(0xFFFF_FFFF_FFFF_FFEC, .max, .max, 0x7FFF_FFFF_FFFF_FFFF)

    /// Whether a point has this coordinate y: x² = (y² − 1) / (d·y² + 1) has a root. A quotient has one exactly if the
    /// product has; the denominator is never 0.
    ///
    /// - Parameter key: 32 bytes, and not of small order, so the numerator isn't 0, either. It is public, so the time may
    ///   depend on it.
    static func hasPoint(_ key: [UInt8]) -> Bool {
        let y = FieldNumber(littleEndian: key)
        let square = y * y
        return ((square + minusOne) * (d * square + one)).isSquare
    }
}

/// A number modulo p, as any number below 2^256 that is congruent: p and 2^256 − 38 are congruent to 0.
private struct FieldNumber {
    /// Of the highest word: the bits below 2^255.
    private static let below2To255: UInt64 = 0x7FFF_FFFF_FFFF_FFFF

    /// The lowest first.
    private var words: SIMD4<UInt64>

    init(_ words: UInt64...) { self.words = SIMD4(words) }

    private init(words: SIMD4<UInt64>) { self.words = words }

    /// - Parameter bytes: 32. The last bit, the sign of a coordinate x, is left out.
    init(littleEndian bytes: [UInt8]) {
        words = SIMD4()
        for (index, byte) in bytes.enumerated() { words[index / 8] |= UInt64(byte) << UInt64(8 * (index % 8)) }
        words[3] &= Self.below2To255
    }

    static func + (one: Self, other: Self) -> Self {
        var (words, carry) = (one.words, UInt64(0))
        for index in 0..<4 { (carry, words[index]) = sum((0, words[index]), other.words[index], carry) }
        return reduced(words, SIMD4(carry, 0, 0, 0))
    }

    static func * (one: Self, other: Self) -> Self {
        var product = SIMD8<UInt64>()
        for low in 0..<4 {
            var carry: UInt64 = 0
            for high in 0..<4 {
                let part = one.words[low].multipliedFullWidth(by: other.words[high])
                (carry, product[low + high]) = sum(part, product[low + high], carry)
            }
            product[low + 4] = carry
        }
        return reduced(product.lowHalf, product.highHalf)
    }

    /// Of a product of two words and two further ones: two words always hold it.
    private static func sum(
        _ product: (high: UInt64, low: UInt64), _ one: UInt64, _ other: UInt64
    ) -> (carry: UInt64, word: UInt64) {
        let (first, isOver) = product.low.addingReportingOverflow(one)
        let (second, isOverAgain) = first.addingReportingOverflow(other)
        return (product.high + (isOver ? 1 : 0) + (isOverAgain ? 1 : 0), second)
    }

    /// low + high · 2^256, which is congruent to low + high · 38.
    private static func reduced(_ low: SIMD4<UInt64>, _ high: SIMD4<UInt64>) -> Self {
        var (words, carry) = (low, UInt64(0))
        for index in 0..<4 {
            (carry, words[index]) = sum(high[index].multipliedFullWidth(by: 38), words[index], carry)
        }
        while carry > 0 {
            var rest = carry * 38
            for index in 0..<4 { (rest, words[index]) = sum((0, words[index]), rest, 0) }
            carry = rest
        }
        return Self(words: words)
    }

    /// Euler's criterion: the power (p − 1) / 2 = 2^254 − 10, of whose 254 bits all are set but two, is 1.
    var isSquare: Bool {
        var power = self
        for bit in stride(from: 252, through: 0, by: -1) {
            power = power * power
            if bit != 3, bit != 0 { power = power * self }
        }
        return power.isOne
    }

    /// 1, p + 1 or 2p + 1.
    private var isOne: Bool {
        var low = words
        low[3] &= Self.below2To255
        let number = Self(words: low) + Self(words: SIMD4((words[3] >> 63) * 19, 0, 0, 0))
        return number.words == SIMD4(1, 0, 0, 0)
            || number.words == SIMD4(0xFFFF_FFFF_FFFF_FFEE, .max, .max, Self.below2To255)
    }
}
