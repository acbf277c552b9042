import WireText

/// The result of a call of `MessageInflater`.
package struct InflatedPiece: Hashable, Sendable {
    /// Bytes at the front of the output; may be 0. Text is valid UTF-8 so far.
    package let count: Int
    package let isText: Bool
    package let isFirst: Bool
    package let isLast: Bool
    /// The piece isn't used up: the output was too small for everything it inflates to. The caller may continue later.
    package let hasMore: Bool
}

/// The bytes that a sender removes from the end of each message (RFC 7692 §7.2.1).
private let removedTail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]

/// Inflates the compressed messages of one connection, piece by piece, into the caller's memory (RFC 7692 §7.2.2).
///
/// It allocates nothing for the inflated data. A message that inflates to too much is refused at the first excess byte.
package struct MessageInflater<Engine: InflateEngine>: ~Copyable {
    private let windowBits: Int
    private let keepsContext: Bool
    private let limits: MessageLimits
    private var engine: Engine?

    private var isInside = false
    private var isNew = false
    private var taken = 0
    private var expanded = 0
    private var tailTaken = 0
    private var isBetweenBlocks = false
    private var text = UTF8Validator()
    private var fault: FrameFault?

    package init(windowBits: Int, keepsContext: Bool, limits: MessageLimits = MessageLimits()) {
        self.windowBits = windowBits
        self.keepsContext = keepsContext
        self.limits = limits
    }

    /// Inflates the next part. Call it again with the same piece while `hasMore`.
    ///
    /// - Parameters:
    ///   - piece: from the reader, of a compressed message; its range is ignored.
    ///   - input: the bytes of the piece.
    ///   - position: 0 at first; the number of bytes of the piece used so far.
    ///   - output: must not be empty. Its size limits the work of one call.
    package mutating func inflate(
        _ piece: DataPiece, _ input: Span<UInt8>, from position: inout Int, into output: inout MutableSpan<UInt8>
    ) throws(FrameFault) -> InflatedPiece {
        precondition(piece.isCompressed && !output.isEmpty)
        if let fault {
            engine = nil
            throw fault
        }
        do throws(FrameFault) {
            return try next(piece, input, &position, &output)
        } catch {
            fault = error
            engine = nil
            throw error
        }
    }

    private mutating func next(
        _ piece: DataPiece, _ input: Span<UInt8>, _ position: inout Int, _ output: inout MutableSpan<UInt8>
    ) throws(FrameFault) -> InflatedPiece {
        begin()
        // One byte more than allowed, to detect that there is more.
        let room = min(output.count, max(limits.messageBytes - expanded, 0) + 1)
        let step = try run(input.extracting(position..<input.count), &output, 0..<room)
        position += step.taken
        var written = step.written
        if position == input.count, piece.isLast, written < room, tailTaken < 4 {
            // §7.2.2: the tail that the sender removed.
            let step = try run(removedTail.span.extracting(tailTaken..<4), &output, written..<room)
            tailTaken += step.taken
            written += step.written
        }
        expanded += written
        try checkExpansion()
        let isUsed = position == input.count && written < room
        let isLast = isUsed && piece.isLast
        // §7.2.1: without the tail a message ends inside a block; with it, directly after one.
        if isLast, tailTaken < 4 || !isBetweenBlocks { throw .corruptDeflate }
        return try checked(piece, output.span.extracting(0..<written), isLast: isLast, hasMore: !isUsed)
    }

    private mutating func begin() {
        guard !isInside else { return }
        isInside = true
        isNew = true
        (taken, expanded, tailTaken) = (0, 0, 0)
        text = UTF8Validator()
    }

    private mutating func run(
        _ input: Span<UInt8>, _ output: inout MutableSpan<UInt8>, _ range: Range<Int>
    ) throws(FrameFault) -> InflateStep {
        var room = output._mutatingExtracting(range)
        do throws(DeflateEngineFault) {
            let step = try usableEngine().inflate(input, into: &room)
            taken += step.taken
            isBetweenBlocks = step.isBetweenBlocks
            return step
        } catch {
            throw error == .outOfMemory ? .outOfMemory : .corruptDeflate
        }
    }

    private mutating func usableEngine() throws(DeflateEngineFault) -> Engine {
        if let engine { return engine }
        let made = try Engine(windowBits: windowBits)
        engine = made
        return made
    }

    private func checkExpansion() throws(FrameFault) {
        guard expanded <= limits.messageBytes else { throw .messageTooBig }
        let allowed = taken.multipliedReportingOverflow(by: limits.expansionRatio)
        guard expanded <= limits.freeExpansionBytes || allowed.overflow || expanded <= allowed.partialValue else {
            throw .expandsTooMuch
        }
    }

    /// Invalid UTF-8 is refused at its first invalid byte, after the valid part is delivered (RFC 6455 §8.1).
    private mutating func checked(
        _ piece: DataPiece, _ bytes: Span<UInt8>, isLast: Bool, hasMore: Bool
    ) throws(FrameFault) -> InflatedPiece {
        let right = piece.isText ? text.accept(bytes) : bytes.count
        let isWrong = right < bytes.count || (isLast && piece.isText && !text.isComplete)
        if isWrong, right == 0 { throw .textNotUTF8 }
        let isFirst = isNew && (right > 0 || isLast)
        if isFirst { isNew = false }
        guard !isWrong else {
            fault = .textNotUTF8
            return InflatedPiece(count: right, isText: true, isFirst: isFirst, isLast: false, hasMore: true)
        }
        if isLast { end() }
        return InflatedPiece(count: right, isText: piece.isText, isFirst: isFirst, isLast: isLast, hasMore: hasMore)
    }

    private mutating func end() {
        isInside = false
        // §7.1.1: the next message begins with an empty window.
        if !keepsContext { engine?.reset() }
    }

    /// Frees the engine if that is allowed: between messages, and only if no context is kept. The next message creates
    /// another.
    ///
    /// - Returns: whether there was something to free.
    @discardableResult
    package mutating func releaseIdle() -> Bool {
        guard !keepsContext, !isInside, engine != nil else { return false }
        engine = nil
        return true
    }

    /// Whether this connection currently holds memory for an engine.
    package var holdsMemory: Bool { engine != nil }
}
