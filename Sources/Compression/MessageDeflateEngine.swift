import CZlib
package import WebSocketWire

/// zlib's implementation of `DeflateEngine` for permessage-deflate (RFC 7692): one window for any number of messages. Not thread-safe. It
/// allocates all of its memory at once.
package final class MessageDeflateEngine: DeflateEngine {
    private let stream: ZlibStream

    package init(windowBits: Int, memoryLevel: Int, level: Int) throws(DeflateEngineFault) {
        precondition(DeflateSettings.windowBits.contains(windowBits) && (1...9).contains(memoryLevel))
        do throws(CompressionError) {
            stream = try ZlibStream {
                portcullis_message_deflate_init($0, CInt(level), -CInt(windowBits), CInt(memoryLevel))
            } end: {
                deflateEnd($0)
            }
        } catch {
            throw .outOfMemory
        }
    }

    /// From zlib's documentation, plus its state of about 6 KiB. A test compares it with zlib's actual allocations.
    package static func bytes(windowBits: Int, memoryLevel: Int) -> Int {
        (1 << (windowBits + 2)) + (1 << (memoryLevel + 9)) + 6_400
    }

    /// zlib's bound for any window and level, plus the empty block of a flush.
    package static func bound(_ count: Int) -> Int { count + count / 8 + count / 64 + 64 }

    package func deflate(
        _ input: Span<UInt8>, into output: inout MutableSpan<UInt8>
    ) throws(DeflateEngineFault) -> Int {
        let step = stream.step(input, 0, &output, 0) { CZlib.deflate($0, Z_SYNC_FLUSH) }
        guard step.status == Z_OK else { throw .corrupt }
        // The flush is complete only if room was left.
        guard step.taken == input.count, step.written < output.count else { throw .noRoom }
        return step.written
    }

    package func reset() {
        // It fails only for a stream that zlib hasn't initialised.
        _ = stream.withPointer(deflateReset)
    }
}
