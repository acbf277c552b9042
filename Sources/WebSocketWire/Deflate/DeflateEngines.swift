/// What permessage-deflate needs of a DEFLATE library (RFC 1951). WebSocketWire has none; `Compression` has zlib's.
package enum DeflateEngineFault: Error, Hashable, Sendable {
    /// The input isn't DEFLATE.
    case corrupt
    case outOfMemory
    /// The output has no room for all of it.
    case noRoom
}

/// How far one call of an `InflateEngine` came.
package struct InflateStep: Hashable, Sendable {
    /// Bytes off the front of the input.
    package let taken: Int
    /// Bytes at the front of the output.
    package let written: Int
    /// What was taken so far ends on a byte boundary, right behind a block.
    package let isBetweenBlocks: Bool

    package init(taken: Int, written: Int, isBetweenBlocks: Bool) {
        self.taken = taken
        self.written = written
        self.isBetweenBlocks = isBetweenBlocks
    }
}

/// Inflates one direction of a connection. Not for two threads at once.
package protocol InflateEngine: AnyObject, SendableMetatype {
    /// - Parameter windowBits: 9 to 15.
    init(windowBits: Int) throws(DeflateEngineFault)

    /// The memory that an engine takes at most.
    static func bytes(windowBits: Int) -> Int

    /// Goes on until all of `input` was taken or `output` is full; after the latter it may hold bytes back, which a further call gives. Behind a
    /// final block it goes on with the next, over the same window (RFC 7692 §7.2.3.4).
    func inflate(
        _ input: Span<UInt8>, into output: inout MutableSpan<UInt8>
    ) throws(DeflateEngineFault) -> InflateStep

    /// Forgets the window and whatever was unfinished.
    func reset()
}

/// Deflates one direction of a connection, or of any number of them where no context is kept. Not for two threads at once.
package protocol DeflateEngine: AnyObject, SendableMetatype {
    /// - Parameters:
    ///   - windowBits: 9 to 15.
    ///   - memoryLevel: 1 to 9, as zlib has it.
    ///   - level: 1 (fastest) to 9 (smallest).
    init(windowBits: Int, memoryLevel: Int, level: Int) throws(DeflateEngineFault)

    /// The memory that an engine takes.
    static func bytes(windowBits: Int, memoryLevel: Int) -> Int

    /// Room that is enough for the result of `count` bytes, whatever they are.
    static func bound(_ count: Int) -> Int

    /// Deflates all of `input`, which isn't empty, and flushes: what comes out ends on a byte boundary, with 00 00 FF FF.
    ///
    /// - Returns: how many bytes were written.
    func deflate(_ input: Span<UInt8>, into output: inout MutableSpan<UInt8>) throws(DeflateEngineFault) -> Int

    /// Forgets the window.
    func reset()
}
