/// RFC 6455 §5.2. Other values are reserved.
package enum Opcode: UInt8, Sendable, CaseIterable {
    case continuation = 0x0
    case text = 0x1
    case binary = 0x2
    case close = 0x8
    case ping = 0x9
    case pong = 0xA

    package var isControl: Bool { rawValue & 0x8 != 0 }
}

/// The header of a frame that we send (RFC 6455 §5.2), with the shortest form of its length.
package struct FrameHeader: Hashable, Sendable {
    /// The size with a 64-bit length and a mask.
    package static let maximumBytes = 14

    package let opcode: Opcode
    package let isFinal: Bool
    /// RSV1: the first frame of a compressed message (RFC 7692 §6).
    package let isCompressed: Bool
    package let payloadBytes: Int
    /// Clients mask; servers don't (§5.1).
    package let mask: MaskKey?

    package init(
        _ opcode: Opcode, isFinal: Bool = true, isCompressed: Bool = false, payloadBytes: Int, mask: MaskKey? = nil
    ) {
        precondition(payloadBytes >= 0)
        precondition(!opcode.isControl || (isFinal && payloadBytes <= ControlPayload.maximumBytes))
        precondition(!isCompressed || opcode == .text || opcode == .binary)
        self.opcode = opcode
        self.isFinal = isFinal
        self.isCompressed = isCompressed
        self.payloadBytes = payloadBytes
        self.mask = mask
    }

    /// The length of the header: 2, 4 or 10 bytes, plus 4 for a mask.
    package var count: Int { 2 + lengthBytes + (mask == nil ? 0 : 4) }

    private var lengthBytes: Int { payloadBytes < 126 ? 0 : payloadBytes <= 0xFFFF ? 2 : 8 }

    package subscript(index: Int) -> UInt8 {
        switch index {
        case 0: (isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0) | opcode.rawValue
        case 1: (mask == nil ? 0 : 0x80) | (lengthBytes == 0 ? UInt8(payloadBytes) : lengthBytes == 2 ? 126 : 127)
        case 2..<(2 + lengthBytes): UInt8(truncatingIfNeeded: payloadBytes >> ((1 + lengthBytes - index) * 8))
        default: mask?[index - 2 - lengthBytes] ?? 0
        }
    }

    /// Writes the header to the front of `output`, which must have room for it.
    ///
    /// - Returns: `count`.
    @discardableResult
    package func write(to output: inout MutableSpan<UInt8>) -> Int {
        let count = count
        for index in 0..<count { output[index] = self[index] }
        return count
    }

    package var bytes: [UInt8] { (0..<count).map { self[$0] } }
}

/// Splits one message into frames with payloads of at most `maximum` bytes each (RFC 6455 §5.4). An empty message has
/// one frame.
package struct Fragments: Sequence, IteratorProtocol, Sendable {
    package struct Fragment: Sendable {
        package let header: FrameHeader
        /// The range in the message's payload.
        package let range: Range<Int>
    }

    private let count: Int
    private let maximum: Int
    private let isCompressed: Bool
    private var opcode: Opcode
    private var position = 0
    private var isDone = false

    /// - Parameter count: the size of the payload as it is sent, after compression.
    package init(of count: Int, isText: Bool, isCompressed: Bool = false, maximum: Int) {
        precondition(count >= 0 && maximum > 0)
        self.count = count
        self.maximum = maximum
        self.isCompressed = isCompressed
        opcode = isText ? .text : .binary
    }

    /// Returns unmasked headers; a client builds its own, each with a new key.
    package mutating func next() -> Fragment? {
        guard !isDone else { return nil }
        let range = position..<(position + Swift.min(maximum, count - position))
        position = range.upperBound
        isDone = position == count
        defer { opcode = .continuation }
        let header = FrameHeader(
            opcode, isFinal: isDone, isCompressed: isCompressed && opcode != .continuation, payloadBytes: range.count)
        return Fragment(header: header, range: range)
    }
}
