import Compression
import Testing

@Suite struct RawDeflaterTests {
    @Test func `every result is one complete stream`() throws {
        for level in [-1, 0, 1, 6, 9, 10] {
            let deflater = try RawDeflater(level: level)
            for sample in Sample.all {
                var input = try deflater.deflate(sample)[...]
                let result = try Inflater(format: .raw).all(of: &input)
                #expect(result.bytes == sample && result.isEnd && input.isEmpty)
            }
        }
    }

    @Test func `empty input gives an empty stream`() throws {
        #expect(try RawDeflater().deflate([]) == [0x03, 0x00])
    }

    @Test func `the result for a text doesn't depend on earlier texts`() throws {
        let deflater = try RawDeflater()
        let text = Array("look\r\n".utf8)
        let first = try deflater.deflate(text)
        _ = try deflater.deflate(Sample.mixed(100_000))
        #expect(try deflater.deflate(text) == first)
    }
}
