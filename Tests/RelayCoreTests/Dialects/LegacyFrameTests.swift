import Compression
import RelayCore
import Testing

/// The frames as a client takes them apart: base64, then raw DEFLATE.
@Suite("A frame of the legacy dialect")
struct LegacyFrameTests {
    @Test(arguments: [true, false])
    func `is base64 of one complete raw DEFLATE stream`(compresses: Bool) throws {
        let compressor: any FrameCompressor = compresses ? Zlib(deflater: try RawDeflater()) : Stored()
        var translation = try #require(
            Translation(kind: .legacy, client: ClientDescription(), compressor: compressor, makeDecompressor: nil))
        var output = TranslationOutput()
        translation.receive(bytes(#"{"connect":1}"#), isText: true, isLast: true, into: &output)
        translation.connected(Transcript.session, telnet: Transcript.telnet, into: &output)
        output.removeAll()
        for size in [1, 2, 3, 100, 16_000] {
            let text = (0..<size).map { UInt8(ascii: "a") + UInt8($0 % 26) }
            var input = text[...]
            while translation.next(&input, now: 0, into: &output) {}
            let frame = try #require(output.frames.frames.first)
            #expect(output.frames.frames.count == 1 && frame.isText)
            let base64 = String(decoding: output.frames.bytes[frame.range], as: UTF8.self)
            var stream = decodedBase64(base64)[...]
            let piece = try Inflater(format: .raw).inflate(&stream, limit: 20_000)
            #expect(piece.bytes == text && piece.isEnd && stream.isEmpty)
            output.removeAll()
        }
    }
}

private struct Zlib: FrameCompressor {
    let deflater: RawDeflater

    func compress(_ bytes: [UInt8]) -> [UInt8]? { try? deflater.deflate(bytes) }
}
