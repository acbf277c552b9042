import CZlib

/// Inflates one stream after another, with bounded output a call. Not for two threads at once.
///
/// It takes about 40 KiB from its first byte to the end of its life.
package final class Inflater {
    package enum Format: Sendable {
        /// RFC 1950: a header, DEFLATE, and a checksum behind it.
        case zlib
        /// RFC 1951: DEFLATE alone.
        case raw
    }

    /// One piece of the inflated stream.
    package struct Piece: Hashable, Sendable {
        package let bytes: [UInt8]
        /// The stream has ended behind `bytes`. The next call begins another.
        package let isEnd: Bool
    }

    private let format: Format
    private var stream: ZlibStream?
    private var hasEnded = false

    package init(format: Format = .zlib) {
        self.format = format
    }

    /// Takes compressed bytes off the front of `input` and gives at most `limit` inflated ones.
    ///
    /// Fewer than `limit` bytes mean that all of `input` was taken or the stream has ended, and that nothing is held back. After exactly
    /// `limit` bytes the next call may give more, even of no input. Behind the end of a stream nothing more is taken.
    ///
    /// A stream that was found corrupt stays so: every later call throws too.
    package func inflate(_ input: inout ArraySlice<UInt8>, limit: Int) throws(CompressionError) -> Piece {
        try prepare()
        guard limit > 0 else { return Piece(bytes: [], isEnd: false) }
        guard let run = stream?.run(&input, capacity: limit, { CZlib.inflate($0, Z_NO_FLUSH) }) else {
            throw .outOfMemory
        }
        switch run.status {
        // Z_BUF_ERROR says that there was nothing to do: no input and no output left.
        case Z_OK, Z_BUF_ERROR: return Piece(bytes: run.output, isEnd: false)
        case Z_STREAM_END:
            hasEnded = true
            return Piece(bytes: run.output, isEnd: true)
        case Z_MEM_ERROR: throw .outOfMemory
        // Z_DATA_ERROR, and Z_NEED_DICT: nobody has agreed on a dictionary.
        default: throw .corrupt
        }
    }

    private func prepare() throws(CompressionError) {
        if stream == nil {
            let windowBits = format == .zlib ? MAX_WBITS : -MAX_WBITS
            stream = try ZlibStream { portcullis_inflate_init($0, windowBits) } end: { inflateEnd($0) }
        } else if hasEnded {
            guard stream?.withPointer(inflateReset) == Z_OK else { throw .outOfMemory }
        }
        hasEnded = false
    }
}
