import WebSocketWire

/// Where to go on in a WebSocket's input.
struct InputPosition: Equatable {
    let offset: Int
    /// The rest of a compressed piece that begins at `offset`, unmasked; frames follow it. Nil: frames follow.
    let piece: DataPiece?

    init(_ offset: Int) {
        self.offset = offset
        piece = nil
    }

    /// - Parameter count: the bytes of the piece that were inflated already.
    init(in piece: DataPiece, after count: Int) {
        offset = piece.range.lowerBound + count
        self.piece = DataPiece(
            range: offset..<piece.range.upperBound, isText: piece.isText, isCompressed: piece.isCompressed,
            isFirst: piece.isFirst, isLast: piece.isLast)
    }

    /// In a copy of the input that begins here.
    var inCopy: InputPosition {
        guard let piece else { return InputPosition(0) }
        let moved = DataPiece(
            range: 0..<piece.range.count, isText: piece.isText, isCompressed: piece.isCompressed,
            isFirst: piece.isFirst, isLast: piece.isLast)
        return InputPosition(in: moved, after: 0)
    }
}

/// Input of a client that was received and isn't processed yet, in order.
struct HeldInput {
    /// While some is held, the socket isn't read, but two reads of 16 KiB may arrive before that takes effect.
    static let maximumBytes = 65_536

    private var bytes: [UInt8]
    private(set) var position: InputPosition

    init(_ input: UnsafeMutableRawBufferPointer, from position: InputPosition) {
        bytes = Array(input[position.offset...])
        self.position = position.inCopy
    }

    var count: Int { bytes.count - position.offset }

    /// - Returns: false if it is more than a paused socket can deliver.
    mutating func append(_ input: UnsafeMutableRawBufferPointer) -> Bool {
        bytes.append(contentsOf: input)
        return count <= Self.maximumBytes
    }

    /// - Parameter body: returns where it has stopped; nil: it has processed everything.
    /// - Returns: whether something is left.
    mutating func process(
        _ body: (UnsafeMutableRawBufferPointer, InputPosition) -> InputPosition?
    ) -> Bool {
        let begin = position
        guard let rest = bytes.withUnsafeMutableBytes({ body($0, begin) }) else { return false }
        position = rest
        return true
    }
}
