/// Inflates one compressed stream of MCCP2 (zlib format). `Telnet` doesn't depend on zlib; its user provides the
/// implementation.
package protocol Decompressor {
    /// Takes compressed bytes off the front of `input` and returns at most `limit` inflated ones.
    ///
    /// Nothing is taken past the end of the stream. If all of `input` was taken, fewer than `limit` bytes mean that
    /// nothing is held back; after exactly `limit` bytes the next call may return more, even without input.
    mutating func decompress(
        _ input: inout ArraySlice<UInt8>, limit: Int
    ) throws(DecompressionError) -> Decompressed

    /// Everything that another process needs to go on with the stream; nil: the stream can't be moved at this point.
    var state: DecompressorState? { get }
}

extension Decompressor {
    package var state: DecompressorState? { nil }
}

/// Makes a decompressor that goes on with a stream; nil where it can't.
package typealias DecompressorRestorer = (DecompressorState) -> (any Decompressor)?

/// A zlib stream between two of its blocks.
package struct DecompressorState: Codable, Hashable, Sendable {
    /// The longest window of DEFLATE.
    package static let maximumWindowBytes = 32_768

    /// The end of the inflated text, to which later blocks may refer. Nil: the stream hasn't begun.
    package var window: [UInt8]?
    /// The bits of the last byte that belong to the next block: the lowest first, at most seven.
    package var unusedBits: UInt8
    package var unusedBitCount: UInt8
    /// Adler-32 of the whole inflated text, which the end of the stream repeats.
    package var checksum: UInt32

    package init(window: [UInt8]?, unusedBits: UInt8 = 0, unusedBitCount: UInt8 = 0, checksum: UInt32 = 1) {
        self.window = window
        self.unusedBits = unusedBits
        self.unusedBitCount = unusedBitCount
        self.checksum = checksum
    }
}

/// One piece of an inflated stream.
package struct Decompressed: Hashable, Sendable {
    package let bytes: [UInt8]
    /// The compressed stream ended after `bytes`.
    package let isEnd: Bool

    package init(bytes: [UInt8], isEnd: Bool) {
        self.bytes = bytes
        self.isEnd = isEnd
    }
}

package enum DecompressionError: Error, Hashable, Sendable {
    /// The stream is not valid zlib data.
    case corrupt
    /// There was no memory for a decompressor.
    case outOfMemory
}

/// Limits on the cost of a compressed stream. A target that exceeds one ends its session: nothing after a compression
/// bomb can be trusted.
package struct DecompressionLimits: Codable, Hashable, Sendable {
    /// Inflated bytes allowed for each compressed byte. Text rarely reaches 20.
    package static let ratio = 100
    package var ratio = ratio
    /// Inflated bytes allowed beyond the ratio. Unused credit is saved up to this amount.
    package var allowance = 65_536
    /// Inflated bytes a second, on average.
    package static let bytesPerSecond = 4_194_304
    package var bytesPerSecond = bytesPerSecond
    /// Inflated bytes allowed at once after a quieter period.
    package var burst = bytesPerSecond

    package init() {}
}

/// Whether a target may compress its output; the values of `TARGET_MCCP`.
package enum MCCPMode: String, Codable, Hashable, Sendable, CaseIterable {
    case on
    /// The option is refused, for targets whose streams can't be inflated.
    case off
}

/// The Mud Client Compression Protocol, version 2: after `IAC SB 86 IAC SE`, everything is one zlib stream until that
/// stream ends. A new stream may begin later.
struct MCCP2 {
    /// The most bytes inflated at once.
    static let pieceBytes = 16_384

    private let makeDecompressor: (@Sendable () -> any Decompressor)?
    private var budget: InflationBudget
    private var decompressor: (any Decompressor)?
    /// The last piece had the maximum length, so the same input may hold more.
    private var mayHoldBytes = false

    init(limits: DecompressionLimits, makeDecompressor: (@Sendable () -> any Decompressor)?) {
        self.makeDecompressor = makeDecompressor
        budget = InflationBudget(limits: limits)
    }

    struct State: Codable {
        var budget: InflationBudget
        /// Nil: no stream is under way.
        var stream: DecompressorState?
    }

    /// Nil where the stream can't be moved at this point.
    var state: State? {
        guard let decompressor else { return State(budget: budget, stream: nil) }
        guard !mayHoldBytes, let stream = decompressor.state else { return nil }
        return State(budget: budget, stream: stream)
    }

    /// - Returns: nil where the stream can't be continued.
    init?(_ state: State, makeDecompressor: (@Sendable () -> any Decompressor)?, restoring: DecompressorRestorer) {
        self.makeDecompressor = makeDecompressor
        budget = state.budget
        guard let stream = state.stream else { return }
        guard let decompressor = restoring(stream) else { return nil }
        self.decompressor = decompressor
    }

    var isActive: Bool { decompressor != nil }

    var holdsBytes: Bool { isActive && mayHoldBytes }

    /// The next byte is compressed.
    mutating func begin() {
        guard decompressor == nil else { return }
        decompressor = makeDecompressor?()
        mayHoldBytes = false
    }

    /// The next inflated bytes; none if `input` holds no more. Bytes after the stream's end stay in `input`.
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

/// The budget for inflating a target's compressed bytes: one account for the ratio, one for the rate. Both outlast a
/// stream, so a target gains nothing by starting a new one.
struct InflationBudget: Codable {
    private let limits: DecompressionLimits
    private var ratioCredit: Int
    private var rateCredit: Int
    private var lastTime: UInt64?

    /// Higher limits make no difference; the cap keeps the sums below far from an overflow.
    private static let highestLimit = 1 << 40

    init(limits: DecompressionLimits) {
        func bounded(_ limit: Int) -> Int { min(max(limit, 0), Self.highestLimit) }
        var limits = limits
        limits.ratio = min(max(limits.ratio, 0), 1_000_000)
        limits.allowance = bounded(limits.allowance)
        limits.bytesPerSecond = bounded(limits.bytesPerSecond)
        limits.burst = bounded(limits.burst)
        self.limits = limits
        ratioCredit = limits.allowance
        rateCredit = limits.burst
    }

    /// - Parameter now: nanoseconds of any epoch. A step back counts as no time.
    mutating func spend(compressed: Int, inflated: Int, now: UInt64) throws(TelnetFailure) {
        ratioCredit += compressed * limits.ratio - inflated
        guard ratioCredit >= 0 else { throw .compressionRatio }
        ratioCredit = min(ratioCredit, limits.allowance)

        // An hour fills any account; the cap keeps the product small.
        let elapsed = min(now - min(lastTime ?? now, now), 3_600_000_000_000)
        lastTime = max(lastTime ?? now, now)
        rateCredit = min(limits.burst, rateCredit + Int(Double(elapsed) / 1e9 * Double(limits.bytesPerSecond)))
        rateCredit -= inflated
        guard rateCredit >= 0 else { throw .compressionRate }
    }
}
