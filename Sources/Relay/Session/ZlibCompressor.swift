import Compression
import RelayCore

/// zlib where the legacy dialect wants it, which knows nothing of it. One a reactor: it serves all of its sessions in turn.
final class ZlibCompressor: FrameCompressor {
    /// Made when the first client needs it.
    private lazy var deflater = try? RawDeflater()

    func compress(_ bytes: [UInt8]) -> [UInt8]? {
        try? deflater?.deflate(bytes)
    }
}
