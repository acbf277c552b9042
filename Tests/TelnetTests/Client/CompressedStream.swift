import Compression
import WebSocketWire

/// A zlib stream as MUDs send it: flushed after each text, then ended.
struct CompressedStream {
    var bytes: [UInt8] = [0x78, 0x9C]
    /// Texts that were flushed.
    var flushes = 0
    /// Bytes up to the end of the first.
    var firstFlush = 0
}

func compressedStream(_ texts: [String]) throws -> CompressedStream {
    let engine = try MessageDeflateEngine(windowBits: 15, memoryLevel: 8, level: 6)
    var stream = CompressedStream()
    var (low, high): (UInt32, UInt32) = (1, 0)
    for text in texts {
        let input = Array(text.utf8)
        var room = [UInt8](repeating: 0, count: MessageDeflateEngine.bound(input.count))
        var span = room.mutableSpan
        let count = try engine.deflate(input.span, into: &span)
        stream.bytes += room.prefix(count)
        stream.flushes += 1
        if stream.firstFlush == 0 { stream.firstFlush = stream.bytes.count }
        for byte in input {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
    }
    // An empty block of fixed codes that is the last one, and the checksum (RFC 1950, RFC 1951).
    stream.bytes += [0x03, 0x00] + [high >> 8, high & 0xFF, low >> 8, low & 0xFF].map { UInt8($0) }
    return stream
}
