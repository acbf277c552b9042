import CZlib
import Compression
import Telnet
import Testing

/// A zlib stream that goes on with another inflater.
@Suite("An inflater in another process") struct InflaterHandoverTests {
    /// Text that changes its nature, so that zlib begins many blocks, at any bit.
    private static func text(seed: UInt64) -> [UInt8] {
        var state = seed
        func random() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 33
        }
        return (0..<300_000).map { index in
            let width = [4, 90, 20, 250][index / 20_000 % 4]
            return UInt8(truncatingIfNeeded: 32 + random() % UInt64(width))
        }
    }

    private static func compressed(_ text: [UInt8]) -> [UInt8] {
        var count = compressBound(uLong(text.count))
        var bytes = [UInt8](repeating: 0, count: Int(count))
        #expect(compress2(&bytes, &count, text, uLong(text.count), 6) == Z_OK)
        return Array(bytes.prefix(Int(count)))
    }

    /// All of the input, and whether the stream has ended behind it.
    private static func inflate(_ inflater: Inflater, _ bytes: ArraySlice<UInt8>) throws -> (text: [UInt8], isEnd: Bool)
    {
        var (rest, text) = (bytes, [UInt8]())
        while true {
            let piece = try inflater.inflate(&rest, limit: 16_384)
            text += piece.bytes
            if piece.isEnd { return (text, true) }
            if rest.isEmpty, piece.bytes.count < 16_384 { return (text, false) }
        }
    }

    /// Wherever zlib stops between two blocks while the stream comes byte by byte.
    @Test(arguments: [UInt64(1), 2, 3, 4]) func `goes on between any two blocks, at any bit`(seed: UInt64) throws {
        let text = Self.text(seed: seed)
        let stream = Self.compressed(text)
        let first = Inflater()
        var (before, aligned, unaligned) = ([UInt8](), 0, 0)
        for position in stream.indices.dropLast(4) {
            before += try Self.inflate(first, stream[position...position]).text
            guard position > 1, let state = first.state else { continue }
            if state.unusedBitCount == 0 { aligned += 1 } else { unaligned += 1 }
            let second = try #require(Inflater(state))
            let rest = stream[(position + 1)...]
            // The checksum comes in pieces, too.
            var after = try Self.inflate(second, rest.dropLast(2))
            #expect(!after.isEnd)
            let end = try Self.inflate(second, rest.suffix(2))
            after.text += end.text
            #expect(end.isEnd && before + after.text == text, "at \(position), \(state.unusedBitCount) bits")
            // A second time, from a state that was taken over.
            #expect(try #require(Inflater(state)).state == state)
        }
        #expect(aligned + unaligned > 1, "\(aligned) + \(unaligned)")
        if seed == 1 { #expect(unaligned > 0) }
    }

    @Test func `finds a wrong checksum`() throws {
        let text = Self.text(seed: 5)
        var stream = Self.compressed(text)
        let first = Inflater()
        _ = try Self.inflate(first, stream[..<2])
        let state = try #require(first.state)
        stream[stream.count - 1] ^= 1
        let second = try #require(Inflater(state))
        #expect(throws: CompressionError.corrupt) { try Self.inflate(second, stream[2...]) }
    }

    @Test func `has no state inside a block, in the header and behind the end`() throws {
        let stream = Self.compressed(Array("hello, hello, hello".utf8))
        let inflater = Inflater()
        #expect(inflater.state == DecompressorState(window: nil))
        _ = try Self.inflate(inflater, stream[..<1])
        #expect(inflater.state == nil)
        _ = try Self.inflate(inflater, stream[1..<5])
        #expect(inflater.state == nil)
        _ = try Self.inflate(inflater, stream[5...])
        #expect(inflater.state == nil)
    }

    @Test func `refuses a state that no inflater has`() {
        let long = DecompressorState(window: [UInt8](repeating: 0, count: DecompressorState.maximumWindowBytes + 1))
        #expect(Inflater(long) == nil)
        #expect(Inflater(DecompressorState(window: [1], unusedBits: 0, unusedBitCount: 8)) == nil)
    }
}
