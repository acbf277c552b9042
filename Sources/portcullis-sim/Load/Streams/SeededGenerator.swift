import Foundation

/// SplitMix64 (Steele, Lea, Flood 2014): small, fast, and the same for the same seed.
struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return Self.mix(state)
    }

    /// A function of its argument alone, for whoever wants the n-th number without those before it.
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
    /// How long until the next of events that come at random, in nanoseconds (exponentially distributed), at most ten times the mean.
    mutating func pause(meanSeconds: Double) -> UInt64 {
        let uniform = Double.random(in: .leastNonzeroMagnitude..<1, using: &self)
        return UInt64(min(-log(uniform), 10) * meanSeconds * 1e9)
    }
}
