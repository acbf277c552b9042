/// Errors of a DEFLATE library (RFC 1951). WebSocketWire has no such library; `Compression` supplies zlib's.
package enum DeflateEngineFault: Error, Hashable, Sendable {
    /// The input isn't DEFLATE.
    case corrupt
    case outOfMemory
    /// The output is too small for the whole result.
    case noRoom
}

/// The progress of one call of an `InflateEngine`.
package struct InflateStep: Hashable, Sendable {
    /// Bytes consumed from the front of the input.
    package let taken: Int
    /// Bytes written to the front of the output.
    package let written: Int
    /// The consumed input ends on a byte boundary, directly after a block.
    package let isBetweenBlocks: Bool

    package init(taken: Int, written: Int, isBetweenBlocks: Bool) {
        self.taken = taken
        self.written = written
        self.isBetweenBlocks = isBetweenBlocks
    }
}

/// Inflates one direction of a connection. Not thread-safe.
package protocol InflateEngine: AnyObject, SendableMetatype {
    /// - Parameter windowBits: 9 to 15.
    init(windowBits: Int) throws(DeflateEngineFault)

    /// The maximum memory of an engine.
    static func bytes(windowBits: Int) -> Int

    /// Continues until all of `input` is consumed or `output` is full. If `output` is full, bytes may be held back for
    /// the next call. After a final block it continues with the next block, over the same window (RFC 7692 §7.2.3.4).
    func inflate(
        _ input: Span<UInt8>, into output: inout MutableSpan<UInt8>
    ) throws(DeflateEngineFault) -> InflateStep

    /// Discards the window and any unfinished data.
    func reset()
}

/// Deflates one direction of a connection, or of any number of connections if no context is kept. Not thread-safe.
package protocol DeflateEngine: AnyObject, SendableMetatype {
    /// - Parameters:
    ///   - windowBits: 9 to 15.
    ///   - memoryLevel: zlib's, 1 to 9.
    ///   - level: 1 (fastest) to 9 (smallest).
    init(windowBits: Int, memoryLevel: Int, level: Int) throws(DeflateEngineFault)

    /// The memory of an engine.
    static func bytes(windowBits: Int, memoryLevel: Int) -> Int

    /// The maximum size of the result for any `count` bytes.
    static func bound(_ count: Int) -> Int

    /// Deflates all of `input`, which must not be empty, and flushes: the output ends on a byte boundary, with 00 00 FF
    /// FF.
    ///
    /// - Returns: the number of bytes written.
    func deflate(_ input: Span<UInt8>, into output: inout MutableSpan<UInt8>) throws(DeflateEngineFault) -> Int

    /// Discards the window.
    func reset()
}
