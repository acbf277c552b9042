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
    /// Not nil for a stream that began in another process: zlib knows its blocks only, so the checksum behind them is
    /// compared here.
    private var trailer: ZlibTrailer?
    /// The last byte that was taken: its highest bits may belong to the next block.
    private var lastByte: UInt8 = 0
    private var isBetweenBlocks = false
    /// Where the stream is until something of it has come here: zlib itself can't be asked before.
    private var restored: DecompressorState?

    package init(format: Format = .zlib) {
        self.format = format
    }

    /// Goes on with a stream that another inflater has begun.
    ///
    /// - Returns: nil without memory, or where zlib rejects the state.
    package init?(_ state: DecompressorState) {
        format = .zlib
        guard let window = state.window else { return }
        guard window.count <= DecompressorState.maximumWindowBytes, state.unusedBitCount < 8 else { return nil }
        stream = try? Self.makeStream(.raw)
        let isPrimed = stream?.withPointer { stream in
            window.withUnsafeBufferPointer { window in
                inflateSetDictionary(stream, window.baseAddress, uInt(window.count)) == Z_OK
            }
                && inflatePrime(stream, CInt(state.unusedBitCount), CInt(state.unusedBits)) == Z_OK
        }
        guard isPrimed == true else { return nil }
        trailer = ZlibTrailer(checksum: state.checksum)
        restored = state
    }

    /// Consumes compressed bytes from the front of `input` and returns at most `limit` inflated ones.
    ///
    /// If all of `input` was consumed and fewer than `limit` bytes were returned, nothing is held back. After exactly
    /// `limit` bytes the next call may return more, even without input. Nothing is consumed after the end of a stream.
    ///
    /// The data before a corrupt position is returned; the next call throws, and so does every later one.
    package func inflate(_ input: inout ArraySlice<UInt8>, limit: Int) throws(CompressionError) -> Piece {
        try prepare()
        guard limit > 0 else { return Piece(bytes: [], isEnd: false) }
        if trailer?.isBegun == true { return try endOfStream(&input) }
        let before = input
        guard let run = stream?.run(&input, capacity: limit, { CZlib.inflate($0, Z_NO_FLUSH) }) else {
            throw .outOfMemory
        }
        switch run.status {
        // Z_BUF_ERROR means that there was nothing to do: no input and no output left.
        case Z_OK, Z_BUF_ERROR:
            note(run.output, before, input)
            return Piece(bytes: run.output, isEnd: false)
        case Z_STREAM_END:
            note(run.output, before, input)
            guard trailer == nil else {
                let end = try endOfStream(&input)
                return Piece(bytes: run.output, isEnd: end.isEnd)
            }
            hasEnded = true
            return Piece(bytes: run.output, isEnd: true)
        case Z_MEM_ERROR: throw .outOfMemory
        // Z_DATA_ERROR, or Z_NEED_DICT: no dictionary was agreed on.
        default:
            guard !run.output.isEmpty else { throw .corrupt }
            // The valid data is returned first. The last input byte is put back, so that the caller calls again and
            // gets the error.
            if input.isEmpty { input = before.suffix(1) }
            return Piece(bytes: run.output, isEnd: false)
        }
    }

    private func prepare() throws(CompressionError) {
        if stream == nil {
            stream = try Self.makeStream(format)
        } else if hasEnded {
            guard stream?.withPointer(inflateReset) == Z_OK else { throw .outOfMemory }
        }
        hasEnded = false
    }

    private static func makeStream(_ format: Format) throws(CompressionError) -> ZlibStream {
        let windowBits = format.windowBits
        return try ZlibStream {
            portcullis_inflate_init($0, windowBits)
        } end: {
            inflateEnd($0)
        }
    }

    // MARK: To another process

    /// Nil inside a block, in the header, and behind the last block.
    package var state: DecompressorState? {
        guard stream != nil else { return DecompressorState(window: nil) }
        if let restored { return restored }
        guard isBetweenBlocks, !hasEnded, trailer?.isBegun != true else { return nil }
        var window = [UInt8](repeating: 0, count: DecompressorState.maximumWindowBytes)
        var count = uInt(window.count)
        // zlib's own checksum is that of the zlib format alone.
        guard
            let (status, bits, checksum) = stream?.withPointer({ stream in
                (
                    window.withUnsafeMutableBufferPointer { inflateGetDictionary(stream, $0.baseAddress, &count) },
                    UInt8(truncatingIfNeeded: stream.pointee.data_type & 7),
                    UInt32(truncatingIfNeeded: stream.pointee.adler)
                )
            }), status == Z_OK
        else { return nil }
        return DecompressorState(
            window: Array(window.prefix(Int(count))), unusedBits: bits == 0 ? 0 : lastByte >> (8 - bits),
            unusedBitCount: bits, checksum: trailer?.checksum ?? checksum)
    }

    private func note(_ output: [UInt8], _ before: ArraySlice<UInt8>, _ rest: ArraySlice<UInt8>) {
        trailer?.add(output)
        let hasTaken = rest.startIndex > before.startIndex
        if hasTaken { lastByte = before[rest.startIndex - 1] }
        // After a call that had nothing to do `data_type` says nothing of the position.
        guard hasTaken || !output.isEmpty else { return }
        restored = nil
        // Directly after a block or the header it contains 128, and 64 after the last block.
        isBetweenBlocks = stream?.withPointer { $0.pointee.data_type & 0xC0 } == 128
    }

    /// The checksum behind the last block.
    private func endOfStream(_ input: inout ArraySlice<UInt8>) throws(CompressionError) -> Piece {
        switch trailer?.take(&input) {
        case .incomplete?: return Piece(bytes: [], isEnd: false)
        case .wrong?: throw .corrupt
        case .right?, nil: break
        }
        // Another stream begins with a header of its own.
        trailer = nil
        stream = nil
        return Piece(bytes: [], isEnd: true)
    }
}

/// The four bytes behind the blocks of a zlib stream (RFC 1950): Adler-32 of the inflated text, the highest byte first.
struct ZlibTrailer {
    enum Outcome { case incomplete, right, wrong }

    private(set) var checksum: UInt32
    private(set) var isBegun = false
    private var found: [UInt8] = []

    init(checksum: UInt32) { self.checksum = checksum }

    mutating func add(_ text: [UInt8]) {
        guard !text.isEmpty else { return }
        checksum = UInt32(truncatingIfNeeded: adler32(uLong(checksum), text, uInt(text.count)))
    }

    mutating func take(_ input: inout ArraySlice<UInt8>) -> Outcome {
        isBegun = true
        while found.count < 4, let byte = input.popFirst() { found.append(byte) }
        guard found.count == 4 else { return .incomplete }
        return found.reduce(0) { $0 << 8 | UInt32($1) } == checksum ? .right : .wrong
    }
}

/// zlib's implementation of Telnet's `Decompressor`, for MCCP2. `Telnet` doesn't depend on zlib.
package struct ZlibDecompressor: Decompressor {
    private let inflater: Inflater

    package init() { inflater = Inflater() }

    /// - Returns: nil without memory.
    package init?(_ state: DecompressorState) {
        guard let inflater = Inflater(state) else { return nil }
        self.inflater = inflater
    }

    package var state: DecompressorState? { inflater.state }

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
