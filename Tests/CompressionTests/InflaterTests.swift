import Compression
import Testing

@Suite struct InflaterTests {
    @Test func `deflated data inflates to the original`() throws {
        for sample in Sample.all {
            var input = try zlibStream(of: sample)[...]
            let result = try Inflater().all(of: &input)
            #expect(result.bytes == sample && result.isEnd && input.isEmpty)
        }
    }

    @Test func `a stream written by another implementation is inflated`() throws {
        // "hello, hello" as Python's zlib.compress writes it.
        var input: ArraySlice<UInt8> = [
            0x78, 0x9C, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0xD7, 0x51, 0xC8, 0x00, 0x51, 0x00, 0x1C, 0xDA, 0x04, 0x75,
        ]
        #expect(try Inflater().all(of: &input).bytes == Array("hello, hello".utf8))
    }

    @Test func `the result doesn't depend on where the stream is split or how long a piece may be`() throws {
        let sample = Sample.mixed(3_000)
        let stream = try zlibStream(of: sample)
        for limit in [1, 7, 512, 16_384] {
            let inflater = Inflater()
            var output: [UInt8] = []
            for byte in stream {
                var input: ArraySlice<UInt8> = [byte]
                output += try inflater.all(of: &input, limit: limit).bytes
                #expect(input.isEmpty)
            }
            #expect(output == sample, "pieces of \(limit)")
        }
        for cut in 0...stream.count {
            let inflater = Inflater()
            var (first, second) = (stream[..<cut], stream[cut...])
            let output = try inflater.all(of: &first).bytes + inflater.all(of: &second).bytes
            #expect(output == sample, "cut at \(cut)")
        }
    }

    @Test func `no piece is longer than its limit`() throws {
        var input = try zlibStream(of: [UInt8](repeating: 0, count: 1_000_000))[...]
        #expect(input.count < 1_100)
        let inflater = Inflater()
        var (total, isEnd) = (0, false)
        while !isEnd {
            let piece = try inflater.inflate(&input, limit: 10_000)
            #expect(piece.bytes.count <= 10_000)
            (total, isEnd) = (total + piece.bytes.count, piece.isEnd)
        }
        #expect(total == 1_000_000)
        #expect(try inflater.inflate(&input, limit: 0) == Inflater.Piece.nothing)
    }

    @Test func `after the end no input is consumed, and the next stream can begin`() throws {
        let inflater = Inflater()
        for text in ["one", "two", "three"] {
            var input = try (zlibStream(of: Array(text.utf8)) + Array("rest".utf8))[...]
            let piece = try inflater.inflate(&input, limit: 100)
            #expect(piece.bytes == Array(text.utf8) && piece.isEnd)
            #expect(Array(input) == Array("rest".utf8))
        }
    }

    @Test func `no input gives no output`() throws {
        let inflater = Inflater()
        var none: ArraySlice<UInt8> = []
        #expect(try inflater.inflate(&none, limit: 10) == Inflater.Piece.nothing)
        var input = try zlibStream(of: Sample.mixed(1_000)).dropLast(5)
        #expect(try !inflater.all(of: &input).isEnd)
        #expect(try inflater.inflate(&none, limit: 10) == Inflater.Piece.nothing)
    }

    @Test func `a corrupt stream is detected and stays corrupt`() throws {
        let good = try zlibStream(of: Sample.mixed(1_000))
        for (position, bits) in [(0, 0x01), (1, 0x20), (good.count - 1, 0x01)] as [(Int, UInt8)] {
            var stream = good
            stream[position] ^= bits
            let inflater = Inflater()
            var input = stream[...]
            #expect(throws: CompressionError.corrupt) { try inflater.all(of: &input) }
            var more = good[...]
            #expect(throws: CompressionError.corrupt) { try inflater.all(of: &more) }
        }
    }

    @Test func `output before the damage is delivered first`() throws {
        var stream = try zlibStream(of: Array("whole".utf8))
        stream[stream.count - 1] ^= 1
        var input = stream[...]
        let inflater = Inflater()
        #expect(try inflater.inflate(&input, limit: 100) == Inflater.Piece(bytes: Array("whole".utf8), isEnd: false))
        #expect(input.count == 1)
        #expect(throws: CompressionError.corrupt) { try inflater.inflate(&input, limit: 100) }
    }

    /// A stream with any one byte changed either fails or ends; it never gives the original as if nothing were wrong.
    @Test func `every changed byte is detected`() throws {
        let sample = Sample.mixed(500)
        let good = try zlibStream(of: sample)
        for index in good.indices {
            var stream = good
            stream[index] ^= 0x55
            var input = stream[...]
            let result = try? Inflater().all(of: &input)
            #expect(result == nil || result?.isEnd == false, "byte \(index)")
        }
    }
}
