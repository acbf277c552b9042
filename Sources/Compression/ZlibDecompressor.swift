package import Telnet

/// zlib's implementation of Telnet's `Decompressor`, for MCCP2. `Telnet` doesn't depend on zlib.
package struct ZlibDecompressor: Decompressor {
    private let inflater = Inflater()

    package init() {}

    package mutating func decompress(
        _ input: inout ArraySlice<UInt8>, limit: Int
    ) throws(DecompressionError) -> Decompressed {
        do throws(CompressionError) {
            let piece = try inflater.inflate(&input, limit: limit)
            return Decompressed(bytes: piece.bytes, isEnd: piece.isEnd)
        } catch {
            throw error == .corrupt ? .corrupt : .outOfMemory
        }
    }
}
