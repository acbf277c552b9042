/// Deflates the messages of one connection into the caller's memory (RFC 7692 §7.2.1).
///
/// If no context is kept, the engine may be shared by all connections of a reactor with the same window size.
package struct MessageDeflater<Engine: DeflateEngine>: ~Copyable {
    package enum Outcome: Hashable, Sendable {
        /// Send the message uncompressed: it is short, would grow, or the output is too small for the worst case.
        case unchanged
        /// Send this many bytes of the output, with RSV1 on the first frame.
        case deflated(Int)
    }

    private let engine: Engine
    private let keepsContext: Bool
    private let minimumBytes: Int

    /// - Parameter minimumBytes: shorter messages aren't compressed.
    package init(engine: Engine, keepsContext: Bool, minimumBytes: Int) {
        self.engine = engine
        self.keepsContext = keepsContext
        self.minimumBytes = minimumBytes
    }

    /// Deflates a whole message. Don't pass a message that may contain a secret next to text that a client controls:
    /// its length would leak the secret.
    ///
    /// After a fault the connection can't compress any more.
    package mutating func deflate(
        _ message: Span<UInt8>, into output: inout MutableSpan<UInt8>
    ) throws(DeflateEngineFault) -> Outcome {
        guard message.count >= max(minimumBytes, 1), output.count >= Engine.bound(message.count) else {
            return .unchanged
        }
        if !keepsContext { engine.reset() }
        let count = try flushed(message, &output)
        // With a context there is no way back, because the next message may refer to this one.
        guard keepsContext || count < message.count else { return .unchanged }
        return .deflated(count)
    }

    /// Deflates a message in pieces, for messages longer than the output. Each result goes into one or more frames of
    /// its own. A shared engine may serve another connection only after the last piece.
    ///
    /// - Parameter output: has room for `Engine.bound(piece.count)`.
    /// - Returns: the number of bytes to send.
    package mutating func deflate(
        piece: Span<UInt8>, isFirst: Bool, isLast: Bool, into output: inout MutableSpan<UInt8>
    ) throws(DeflateEngineFault) -> Int {
        if isFirst, !keepsContext { engine.reset() }
        guard !piece.isEmpty else {
            guard isLast else { return 0 }
            // §7.2.3.6: the header of an empty block; its length fields are the removed tail.
            guard !output.isEmpty else { throw .noRoom }
            output[0] = 0
            return 1
        }
        return isLast ? try flushed(piece, &output) : try engine.deflate(piece, into: &output)
    }

    /// Deflates and removes 00 00 FF FF from the end (§7.2.1, step 3).
    private func flushed(
        _ bytes: Span<UInt8>, _ output: inout MutableSpan<UInt8>
    ) throws(DeflateEngineFault) -> Int {
        let count = try engine.deflate(bytes, into: &output)
        guard count >= 5, output[count - 4] == 0, output[count - 3] == 0, output[count - 2] == 0xFF,
            output[count - 1] == 0xFF
        else { throw .corrupt }
        return count - 4
    }
}
