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

    /// Takes compressed bytes off the front of `input` and gives at most `limit` inflated ones.
    ///
    /// If all of `input` was taken, fewer than `limit` bytes mean that nothing is held back; after exactly `limit` bytes the next call may
    /// give more, even of no input. Behind the end of a stream nothing more is taken.
    ///
    /// What stands before the place where a stream is corrupt is given; the call behind it throws, and so does every later one.
    package func inflate(_ input: inout ArraySlice<UInt8>, limit: Int) throws(CompressionError) -> Piece {
        try prepare()
        guard limit > 0 else { return Piece(bytes: [], isEnd: false) }
        let before = input
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
        default:
            guard !run.output.isEmpty else { throw .corrupt }
            // What was whole is given first. The last byte goes back, so that the caller comes back and is told.
            if input.isEmpty { input = before.suffix(1) }
            return Piece(bytes: run.output, isEnd: false)
        }
    }

    private func prepare() throws(CompressionError) {
        if stream == nil {
            let windowBits = format == .zlib ? MAX_WBITS : -MAX_WBITS
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
