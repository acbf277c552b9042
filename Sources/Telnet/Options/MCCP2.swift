/// Inflates one compressed stream of MCCP2 (zlib format). Telnet knows no zlib; its user brings it.
package protocol Decompressor {
    /// Takes compressed bytes off the front of `input` and gives at most `limit` inflated ones.
    ///
    /// Behind the end of the stream nothing more is taken. If all of `input` was taken, fewer than `limit` bytes mean that nothing is
    /// held back; after exactly `limit` bytes the next call may give more, even of no input.
    mutating func decompress(
        _ input: inout ArraySlice<UInt8>, limit: Int
    ) throws(DecompressionError) -> Decompressed
}

/// One piece of an inflated stream.
package struct Decompressed: Hashable, Sendable {
    package let bytes: [UInt8]
    /// The compressed stream has ended behind `bytes`.
    package let isEnd: Bool

    package init(bytes: [UInt8], isEnd: Bool) {
        self.bytes = bytes
        self.isEnd = isEnd
    }
}

package enum DecompressionError: Error, Hashable, Sendable {
    /// The stream isn't what it claims to be.
    case corrupt
    /// There was no memory for a decompressor.
    case outOfMemory
}

/// What a compressed stream may cost. A target that goes beyond ends its session: a bomb has no honest rest.
package struct DecompressionLimits: Hashable, Sendable {
    /// Inflated bytes that each compressed byte pays for.
    package var ratio = 100
    /// Inflated bytes beyond the ratio. What is paid for and not used is saved up to this amount and no further.
    package var allowance = 65_536
    /// Inflated bytes a second, on average.
    package var bytesPerSecond = 8_388_608
    /// Inflated bytes at once, after a time of less.
    package var burst = 8_388_608

    package init() {}
}

/// The Mud Client Compression Protocol, version 2: behind `IAC SB 86 IAC SE` everything is one zlib stream, until that ends. It may
/// begin again.
struct MCCP2 {
    /// Inflated at once, at most.
    static let pieceBytes = 16_384

    private let makeDecompressor: (@Sendable () -> any Decompressor)?
    private var budget: InflationBudget
    private var decompressor: (any Decompressor)?
    /// The last piece was as long as it may be, so there may be more of the same input.
    private var mayHoldBytes = false

    init(limits: DecompressionLimits, makeDecompressor: (@Sendable () -> any Decompressor)?) {
        self.makeDecompressor = makeDecompressor
        budget = InflationBudget(limits: limits)
    }

    var isSupported: Bool { makeDecompressor != nil }

    var isActive: Bool { decompressor != nil }

    var holdsBytes: Bool { isActive && mayHoldBytes }

    /// The next byte is compressed.
    mutating func begin() {
        guard decompressor == nil else { return }
        decompressor = makeDecompressor?()
        mayHoldBytes = false
    }

    /// The next inflated bytes, none if `input` holds no more of them. What stands behind the stream's end stays in `input`.
    mutating func inflate(_ input: inout ArraySlice<UInt8>, now: UInt64) throws(TelnetFailure) -> [UInt8] {
        let before = input.count
        let piece: Decompressed
        do throws(DecompressionError) {
            guard let next = try decompressor?.decompress(&input, limit: Self.pieceBytes) else { return [] }
            piece = next
        } catch {
            switch error {
            case .corrupt: throw .corruptCompression
            case .outOfMemory: throw .outOfMemory
            }
        }
        try budget.spend(compressed: before - input.count, inflated: piece.bytes.count, now: now)
        mayHoldBytes = piece.bytes.count == Self.pieceBytes
        if piece.isEnd { decompressor = nil }
        return piece.bytes
    }
}
