import Foundation

/// SplitMix64 (Steele, Lea, Flood 2014): small, fast, and reproducible from its seed.
struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return Self.mix(state)
    }

    /// The n-th number as a pure function, without computing the earlier ones.
    static func number(_ index: UInt64, seed: UInt64) -> UInt64 {
        mix(seed &+ (index &+ 1) &* 0x9E37_79B9_7F4A_7C15)
    }

    private static func mix(_ value: UInt64) -> UInt64 {
        var value = value
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}

extension SeededGenerator {
    /// The time to the next random event in nanoseconds (exponentially distributed), at most ten times the mean.
    mutating func pause(meanSeconds: Double) -> UInt64 {
        let uniform = Double.random(in: .leastNonzeroMagnitude..<1, using: &self)
        return UInt64(min(-log(uniform), 10) * meanSeconds * 1e9)
    }
}
