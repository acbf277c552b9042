/// Follows the frames of one direction of a WebSocket (RFC 6455 §5.2) without examining more of them than their lengths, however the bytes are
/// split: who passes the stream on can then end it between two frames.
package struct FrameWalk: Sendable {
    /// The header of the frame that is arriving, while it isn't complete.
    private var header: [UInt8] = []
    /// Payload bytes of that frame to come.
    private var left: UInt64 = 0

    private static let close: UInt8 = 8

    package struct Progress: Hashable, Sendable {
        /// Behind the last frame that ended in these bytes; nil: none did.
        package var boundary: Int?
        /// Where a Close frame began.
        package var close: Int?
    }

    package init() {}

    /// No frame has begun, or the last one is complete.
    package var isBetweenFrames: Bool { header.isEmpty && left == 0 }

    /// - Parameter bytes: the next ones of the stream; each byte is passed once.
    package mutating func advance(_ bytes: Span<UInt8>) -> Progress {
        var progress = Progress()
        var index = 0
        while index < bytes.count {
            if left > 0 {
                let step = Int(min(left, UInt64(bytes.count - index)))
                left -= UInt64(step)
                index += step
            } else {
                if header.isEmpty, bytes[index] & 0x0F == Self.close, progress.close == nil { progress.close = index }
                header.append(bytes[index])
                index += 1
                guard header.count == Self.headerBytes(header) else { continue }
                left = Self.payloadBytes(header)
                header = []
            }
            if isBetweenFrames { progress.boundary = index }
        }
        return progress
    }

    /// - Returns: nil while it isn't known.
    private static func headerBytes(_ header: [UInt8]) -> Int? {
        guard header.count >= 2 else { return nil }
        let extended =
            switch header[1] & 0x7F {
            case 126: 2
            case 127: 8
            default: 0
            }
        return 2 + extended + (header[1] & 0x80 == 0 ? 0 : 4)
    }

    private static func payloadBytes(_ header: [UInt8]) -> UInt64 {
        let short = header[1] & 0x7F
        guard short >= 126 else { return UInt64(short) }
        return header[2..<(short == 126 ? 4 : 10)].reduce(0) { $0 << 8 | UInt64($1) }
    }
}
