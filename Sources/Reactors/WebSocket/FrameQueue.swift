import WebSocketWire

/// What waits to be written to a WebSocket, in order: first bytes that no frame holds yet, behind them whole frames.
///
/// Bytes of a stream get their frames when they are written, as large as the moment allows, and pass through here as they are. From the
/// first message on everything is framed as it comes in (RFC 6455 §5.2, unmasked), until the queue has run empty. So boundaries of
/// messages hold, the order is that of the calls, and what is written ends with a frame.
///
/// Holds no memory while it is empty. Reactor thread only; the owner bounds `count`.
struct FrameQueue {
    /// Of one frame's payload: with its header it fills a TLS record (RFC 8446 §5.1).
    static let maximumPayloadBytes = 16_380
    static let maximumHeaderBytes = 4

    enum Front {
        case empty
        /// Bytes without a frame, at most `maximumPayloadBytes`.
        case stream(UnsafeMutableRawBufferPointer)
        /// Whole frames, as many as a TLS record holds.
        case frames(UnsafeMutableRawBufferPointer)
    }

    private var output = OutputBuffer()
    private var streamBytes = 0
    /// Of the front, what was given to be written and not taken yet: over TLS its record is made, so it is given again as it was.
    private var begunBytes = 0

    /// Bytes that wait, headers among them.
    var count: Int { output.count }
    var isEmpty: Bool { output.isEmpty }

    mutating func appendStream(_ bytes: UnsafeRawBufferPointer, from pool: BufferPool) {
        guard streamBytes == output.count else {
            // Behind a message. Nothing to send is no message.
            return bytes.isEmpty ? () : appendMessage(bytes, isText: false, from: pool)
        }
        output.append(bytes, from: pool)
        streamBytes += bytes.count
    }

    /// One message: in one frame, or in fragments where it is longer than a frame's payload may be (RFC 6455 §5.4).
    mutating func appendMessage(_ bytes: UnsafeRawBufferPointer, isText: Bool, from pool: BufferPool) {
        var fragments = Fragments(of: bytes.count, isText: isText, maximum: Self.maximumPayloadBytes)
        while let fragment = fragments.next() {
            append(fragment.header, UnsafeRawBufferPointer(rebasing: bytes[fragment.range]), from: pool)
        }
    }

    /// A control frame, behind everything before it (RFC 6455 §5.5).
    mutating func appendControl(_ opcode: Opcode, _ payload: ControlPayload, from pool: BufferPool) {
        payload.withSpan { bytes in
            bytes.withUnsafeBytes { append(FrameHeader(opcode, payloadBytes: $0.count), $0, from: pool) }
        }
    }

    private mutating func append(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer, from pool: BufferPool) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.maximumHeaderBytes) { room in
            let bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(room)[..<Self.write(header, to: room)])
            output.append(bytes, from: pool)
        }
        output.append(payload, from: pool)
    }

    private static func write(_ header: FrameHeader, to room: UnsafeMutableBufferPointer<UInt8>) -> Int {
        var span = room.mutableSpan
        return header.write(to: &span)
    }

    /// The frame around bytes of a stream, whose header takes the place of what stands before them.
    ///
    /// - Parameter bytes: of `front`.
    static func framed(_ bytes: UnsafeMutableRawBufferPointer) -> UnsafeMutableRawBufferPointer {
        let header = FrameHeader(.binary, payloadBytes: bytes.count)
        guard let start = bytes.baseAddress?.advanced(by: -header.count) else { return bytes }
        let frame = UnsafeMutableRawBufferPointer(start: start, count: header.count + bytes.count)
        _ = write(
            header,
            to: UnsafeMutableRawBufferPointer(rebasing: frame[..<header.count]).assumingMemoryBound(to: UInt8.self))
        return frame
    }

    /// What is to be written next. Up to `LWS_PRE` bytes before it may be overwritten.
    func front() -> Front {
        if output.isEmpty { return .empty }
        if streamBytes > 0 {
            return .stream(output.front(limit: begunBytes > 0 ? begunBytes : min(streamBytes, Self.maximumPayloadBytes)))
        }
        if begunBytes > 0 { return .frames(output.front(limit: begunBytes)) }
        let candidates = output.front(limit: Self.maximumPayloadBytes + Self.maximumHeaderBytes)
        var end = 0
        while let frame = Self.frameBytes(at: end, of: UnsafeRawBufferPointer(candidates)),
            end + frame <= candidates.count
        {
            end += frame
        }
        return .frames(UnsafeMutableRawBufferPointer(rebasing: candidates[..<end]))
    }

    /// How long the frame is that begins there, which `append` wrote; nil where its header isn't all there.
    static func frameBytes(at start: Int, of frames: UnsafeRawBufferPointer) -> Int? {
        guard frames.count >= start + 2 else { return nil }
        let isLong = frames[start + 1] == 126
        guard !isLong || frames.count >= start + 4 else { return nil }
        return isLong ? 4 + (Int(frames[start + 2]) << 8 | Int(frames[start + 3])) : 2 + Int(frames[start + 1])
    }

    /// - Parameter offered: as many bytes as `front` gave.
    mutating func begin(_ offered: Int) { begunBytes = offered }

    /// All but what was begun.
    mutating func dropUnsent(to pool: BufferPool) {
        guard begunBytes > 0 else { return release(to: pool) }
        streamBytes = min(streamBytes, begunBytes)
        output.removeLast(output.count - begunBytes)
    }

    /// - Parameter written: as many bytes as `front` gave, or as the first of its frames has.
    mutating func removeFirst(_ written: Int, to pool: BufferPool) {
        begunBytes = 0
        streamBytes -= min(streamBytes, written)
        output.removeFirst(written, to: pool)
    }

    mutating func release(to pool: BufferPool) {
        streamBytes = 0
        begunBytes = 0
        output.release(to: pool)
    }
}
