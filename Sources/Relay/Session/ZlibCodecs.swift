import Compression
import RelayCore
import Telnet

/// zlib where Telnet and the dialects want it: neither knows of the other.
struct ZlibDecompressor: Decompressor {
    private let inflater = Inflater()

    mutating func decompress(
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

/// One a reactor: it serves all of its sessions in turn.
final class ZlibCompressor: FrameCompressor {
    /// Made when the first client needs it.
    private lazy var deflater = try? RawDeflater()

    func compress(_ bytes: [UInt8]) -> [UInt8]? {
        try? deflater?.deflate(bytes)
    }
}
