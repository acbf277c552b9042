import CZlib

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
