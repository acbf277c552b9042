import Compression

enum Sample {
    static let all: [[UInt8]] = [[], [0], Array("hello".utf8), [UInt8](repeating: 65, count: 100_000), mixed(70_000)]

    /// Bytes that compress somewhat, the same ones each time.
    static func mixed(_ count: Int) -> [UInt8] {
        var state: UInt32 = 1
        return (0..<count).map { index in
            state = state &* 1_664_525 &+ 1_013_904_223
            return index % 64 < 32 ? UInt8(truncatingIfNeeded: index / 64) : UInt8(state >> 24)
        }
    }
}

extension Inflater {
    /// Everything that `input` holds of one stream.
    func all(of input: inout ArraySlice<UInt8>, limit: Int = 16_384) throws -> (bytes: [UInt8], isEnd: Bool) {
        var bytes: [UInt8] = []
        while true {
            let piece = try inflate(&input, limit: limit)
            bytes += piece.bytes
            if piece.isEnd || (piece.bytes.count < limit && input.isEmpty) { return (bytes, piece.isEnd) }
        }
    }
}

extension Inflater.Piece {
    static var nothing: Self { Inflater.Piece(bytes: [], isEnd: false) }
}

/// `bytes` as one zlib stream (RFC 1950): a header, raw DEFLATE, and Adler-32.
func zlibStream(of bytes: [UInt8]) throws -> [UInt8] {
    var (low, high): (UInt32, UInt32) = (1, 0)
    for byte in bytes {
        low = (low + UInt32(byte)) % 65_521
        high = (high + low) % 65_521
    }
    let checksum = [high >> 8, high & 0xFF, low >> 8, low & 0xFF].map { UInt8($0) }
    return try [0x78, 0x9C] + RawDeflater().deflate(bytes) + checksum
}
