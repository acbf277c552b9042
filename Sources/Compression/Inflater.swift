import CZlib
package import Telnet

/// Inflates streams one after another, with bounded output per call. Not thread-safe.
///
/// It uses about 40 KiB from its first byte until it is released.
package final class Inflater {
    package enum Format: Sendable {
        /// RFC 1950: a header, DEFLATE data and a checksum.
        case zlib
        /// RFC 1951: DEFLATE data only.
        case raw
        /// RFC 1952: files of `gzip`.
        case gzip

        fileprivate var windowBits: CInt {
            switch self {
            case .zlib: MAX_WBITS
            case .raw: -MAX_WBITS
            // zlib's way to ask for gzip's header.
            case .gzip: MAX_WBITS + 16
            }
        }
    }

    /// One piece of the inflated stream.
    package struct Piece: Hashable, Sendable {
        package let bytes: [UInt8]
        /// The stream ends after `bytes`. The next call begins another.
        package let isEnd: Bool

        package init(bytes: [UInt8], isEnd: Bool) {
            self.bytes = bytes
            self.isEnd = isEnd
        }
    }

    private let format: Format
    private var stream: ZlibStream?
    private var hasEnded = false

    package init(format: Format = .zlib) {
        self.format = format
    }

    /// Consumes compressed bytes from the front of `input` and returns at most `limit` inflated ones.
    ///
    /// If all of `input` was consumed and fewer than `limit` bytes were returned, nothing is held back. After exactly `limit` bytes the
    /// next call may return more, even without input. Nothing is consumed after the end of a stream.
    ///
    /// The data before a corrupt position is returned; the next call throws, and so does every later one.
    package func inflate(_ input: inout ArraySlice<UInt8>, limit: Int) throws(CompressionError) -> Piece {
        try prepare()
        guard limit > 0 else { return Piece(bytes: [], isEnd: false) }
        let before = input
        guard let run = stream?.run(&input, capacity: limit, { CZlib.inflate($0, Z_NO_FLUSH) }) else {
            throw .outOfMemory
        }
        switch run.status {
        // Z_BUF_ERROR means that there was nothing to do: no input and no output left.
        case Z_OK, Z_BUF_ERROR: return Piece(bytes: run.output, isEnd: false)
        case Z_STREAM_END:
            hasEnded = true
            return Piece(bytes: run.output, isEnd: true)
        case Z_MEM_ERROR: throw .outOfMemory
        // Z_DATA_ERROR, or Z_NEED_DICT: no dictionary was agreed on.
        default:
            guard !run.output.isEmpty else { throw .corrupt }
            // The valid data is returned first. The last input byte is put back, so that the caller calls again and gets the error.
            if input.isEmpty { input = before.suffix(1) }
            return Piece(bytes: run.output, isEnd: false)
        }
    }

    private func prepare() throws(CompressionError) {
        if stream == nil {
            let windowBits = format.windowBits
            stream = try ZlibStream {
                portcullis_inflate_init($0, windowBits)
            } end: {
                inflateEnd($0)
            }
        } else if hasEnded {
            guard stream?.withPointer(inflateReset) == Z_OK else { throw .outOfMemory }
        }
        hasEnded = false
    }
}

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
