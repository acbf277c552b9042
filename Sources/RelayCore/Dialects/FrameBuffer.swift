/// WebSocket messages for the client, stored consecutively in a single reused buffer.
package struct FrameBuffer: Sendable {
    /// One complete message.
    package struct Frame: Hashable, Sendable {
        /// A text message with a valid UTF-8 payload; otherwise a binary message.
        package let isText: Bool
        /// The payload's range in ``FrameBuffer/bytes``.
        package let range: Range<Int>
        /// It contains a secret of the gateway's (a token or a ticket) and must not be compressed: see docs/THREAT-MODEL.md,
        /// "Compression".
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
