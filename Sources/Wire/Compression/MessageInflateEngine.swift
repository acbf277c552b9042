import CZlib
package import WebSocketWire

/// zlib's implementation of `InflateEngine` for permessage-deflate (RFC 7692): raw DEFLATE over one window for any
/// number of messages. Not thread-safe. zlib allocates the window when the first output must be kept in it.
package final class MessageInflateEngine: InflateEngine {
    private let stream: ZlibStream
    private var isBetweenBlocks = false

    package init(windowBits: Int) throws(DeflateEngineFault) {
        precondition(DeflateSettings.windowBits.contains(windowBits))
        do throws(CompressionError) {
            stream = try ZlibStream {
                portcullis_inflate_init($0, -CInt(windowBits))
            } end: {
                inflateEnd($0)
            }
        } catch {
            throw .outOfMemory
        }
    }

    /// The window, zlib's state of about 7 KiB, and the stream. A test compares it with zlib's actual allocations.
    package static func bytes(windowBits: Int) -> Int { (1 << windowBits) + 7_424 }

    package func inflate(
        _ input: Span<UInt8>, into output: inout MutableSpan<UInt8>
    ) throws(DeflateEngineFault) -> InflateStep {
        var (taken, written) = (0, 0)
        while true {
            let step = stream.step(input, taken, &output, written) { CZlib.inflate($0, Z_SYNC_FLUSH) }
            taken += step.taken
            written += step.written
            switch step.status {
            case Z_OK:
                // Directly after a block, `data_type` contains 128, and its lowest three bits are the number of unused
                // bits of the last byte. After a call that had nothing to do it contains neither.
                isBetweenBlocks = stream.withPointer { $0.pointee.data_type & 0x87 } == 128
            // Nothing to do: no input and no output left.
            case Z_BUF_ERROR:
                return InflateStep(taken: taken, written: written, isBetweenBlocks: isBetweenBlocks)
            case Z_STREAM_END:
                // A final block doesn't end a message (RFC 7692 §7.2.3.4). Of the two ways to continue, this one leaves
                // the window in place. Copying it would let a client cause copies of 64 KiB with an empty block of two
                // bytes.
                guard stream.withPointer(inflateResetKeep) == Z_OK else { throw .outOfMemory }
                isBetweenBlocks = false
            case Z_MEM_ERROR: throw .outOfMemory
            default: throw .corrupt
            }
            guard taken < input.count, written < output.count else {
                return InflateStep(taken: taken, written: written, isBetweenBlocks: isBetweenBlocks)
            }
        }
    }

    package func reset() {
        isBetweenBlocks = false
        // It fails only for a stream that zlib hasn't initialised.
        _ = stream.withPointer(inflateReset)
    }
}
