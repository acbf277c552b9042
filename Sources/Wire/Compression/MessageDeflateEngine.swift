import CZlib
package import WebSocketWire

/// zlib's implementation of `DeflateEngine` for permessage-deflate (RFC 7692): one window for any number of messages.
/// Not thread-safe. It allocates all of its memory at once.
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

/// Compresses byte strings, each into one complete raw DEFLATE stream (RFC 1951). Not thread-safe.
///
/// It uses about 260 KiB for its whole life and can serve any number of connections in turn.
package final class RawDeflater {
    private let stream: ZlibStream

    /// - Parameter level: 0 (none) to 9 (smallest).
    package init(level: Int = 6) throws(CompressionError) {
        let level = CInt(min(max(level, 0), 9))
        stream = try ZlibStream {
            portcullis_deflate_init($0, level, -MAX_WBITS)
        } end: {
            deflateEnd($0)
        }
    }

    /// Never empty: empty input becomes a stream of two bytes.
    package func deflate(_ bytes: [UInt8]) throws(CompressionError) -> [UInt8] {
        guard stream.withPointer(deflateReset) == Z_OK else { throw .corrupt }
        var input = bytes[...]
        let bound = Int(stream.withPointer { deflateBound($0, uLong(bytes.count)) })
        let run = stream.run(&input, capacity: bound) { CZlib.deflate($0, Z_FINISH) }
        guard run.status == Z_STREAM_END, input.isEmpty else { throw .outOfMemory }
        return run.output
    }
}
