/// WebSocket messages for the client, stored consecutively in a single reused buffer.
package struct FrameBuffer: Sendable {
    /// One complete message.
    package struct Frame: Hashable, Sendable {
        /// A text message with a valid UTF-8 payload; otherwise a binary message.
        package let isText: Bool
        /// The payload's range in ``FrameBuffer/bytes``.
        package let range: Range<Int>
        /// It contains a secret of the gateway's (a token or a ticket) and must not be compressed: see
        /// docs/THREAT-MODEL.md, "Compression".
        package let isSecret: Bool
    }

    /// An emptied buffer above this capacity releases its memory.
    static let keptCapacity = 65_536

    package private(set) var bytes: [UInt8] = []
    package private(set) var frames: [Frame] = []

    package init() {}

    package var isEmpty: Bool { frames.isEmpty }

    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptCapacity)
        frames.removeAll(keepingCapacity: true)
    }

    /// - Parameter write: appends the payload.
    @inline(__always)
    mutating func append(isText: Bool, isSecret: Bool = false, _ write: (inout [UInt8]) -> Void) {
        let start = bytes.count
        write(&bytes)
        frames.append(Frame(isText: isText, range: start..<bytes.count, isSecret: isSecret))
    }
}

/// Compresses one message of the legacy dialect. `RelayCore` doesn't depend on zlib; its user provides the
/// implementation.
package protocol FrameCompressor {
    /// - Returns: one complete raw DEFLATE stream (RFC 1951), its last block marked as final; nil if there is no memory
    ///   for it.
    func compress(_ bytes: [UInt8]) -> [UInt8]?
}

/// Raw DEFLATE without compression (RFC 1951 §3.2.4): every inflater reads it. It is the fallback if a compressor
/// fails.
enum StoredDeflate {
    private static let maximumBlockBytes = 65_535

    static func stream(of bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        var rest = bytes[...]
        repeat {
            let block = rest.prefix(maximumBlockBytes)
            rest = rest.dropFirst(block.count)
            let length = UInt16(block.count)
            output.append(rest.isEmpty ? 1 : 0)
            for word in [length, ~length] { output += [UInt8(word & 0xFF), UInt8(word >> 8)] }
            output += block
        } while !rest.isEmpty
        return output
    }
}
