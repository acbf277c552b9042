import WebSocketWire

/// The output queue of a WebSocket, in order: first unframed stream bytes, then whole frames.
///
/// Stream bytes are framed when they are written, as large as possible at that moment, and are stored as they are. From
/// the first message on, everything is framed when it is queued (RFC 6455 §5.2, unmasked), until the queue is empty.
/// This keeps message boundaries and the order of the calls, and each write ends with a frame.
///
/// It holds no memory while it is empty. Reactor thread only; the owner bounds `count`.
struct FrameQueue {
    /// The maximum payload of one frame: with its header it fills a TLS record (RFC 8446 §5.1).
    static let maximumPayloadBytes = 16_380
    static let maximumHeaderBytes = 4

    enum Front {
        case empty
        /// Unframed bytes, at most `maximumPayloadBytes`.
        case stream(UnsafeMutableRawBufferPointer)
        /// Whole frames, as many as a TLS record holds.
        case frames(UnsafeMutableRawBufferPointer)
    }

    private var output = OutputBuffer()
    private var streamBytes = 0

    /// Queued bytes, including headers.
    var count: Int { output.count }
    var isEmpty: Bool { output.isEmpty }
    /// The queue contains stream bytes that are framed when they are written. Data that is compressed before then must
    /// not be queued behind them.
    var hasStream: Bool { streamBytes > 0 }

    mutating func appendStream(_ bytes: UnsafeRawBufferPointer, from pool: BufferPool) {
        guard streamBytes == output.count else {
            // There is a message before them. Zero bytes make no message.
            return bytes.isEmpty ? () : appendMessage(bytes, isText: false, from: pool)
        }
        output.append(bytes, from: pool)
        streamBytes += bytes.count
    }

    /// Queues one message: in one frame, or in fragments if it exceeds the maximum payload (RFC 6455 §5.4).
    mutating func appendMessage(_ bytes: UnsafeRawBufferPointer, isText: Bool, from pool: BufferPool) {
        var fragments = Fragments(of: bytes.count, isText: isText, maximum: Self.maximumPayloadBytes)
        while let fragment = fragments.next() {
            append(fragment.header, UnsafeRawBufferPointer(rebasing: bytes[fragment.range]), from: pool)
        }
    }

    /// Queues a control frame after everything before it (RFC 6455 §5.5).
    mutating func appendControl(_ opcode: Opcode, _ payload: ControlPayload, from pool: BufferPool) {
        payload.withSpan { bytes in
            bytes.withUnsafeBytes { append(FrameHeader(opcode, payloadBytes: $0.count), $0, from: pool) }
        }
    }

    /// Queues one frame, whose payload is at most `maximumPayloadBytes`.
    mutating func append(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer, from pool: BufferPool) {
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

    /// Frames stream bytes in place: the header overwrites the bytes before them.
    ///
    /// - Parameter bytes: from `front`, or with as much room before them.
    static func framed(
        _ bytes: UnsafeMutableRawBufferPointer, isCompressed: Bool = false
    ) -> UnsafeMutableRawBufferPointer {
        let header = FrameHeader(.binary, isCompressed: isCompressed, payloadBytes: bytes.count)
        guard let start = bytes.baseAddress?.advanced(by: -header.count) else { return bytes }
        let frame = UnsafeMutableRawBufferPointer(start: start, count: header.count + bytes.count)
        _ = write(
            header,
            to: UnsafeMutableRawBufferPointer(rebasing: frame[..<header.count]).assumingMemoryBound(to: UInt8.self))
        return frame
    }

    /// The bytes to write next. Up to `LWS_PRE` bytes before them may be overwritten.
    ///
    /// - Parameter streamLimit: the maximum number of unframed bytes.
    func front(streamLimit: Int = maximumPayloadBytes) -> Front {
        if output.isEmpty { return .empty }
        if streamBytes > 0 { return .stream(output.front(limit: min(streamBytes, streamLimit))) }
        let candidates = output.front(limit: Self.maximumPayloadBytes + Self.maximumHeaderBytes)
        var end = 0
        while let frame = Self.frameBytes(at: end, of: UnsafeRawBufferPointer(candidates)),
            end + frame <= candidates.count
        {
            end += frame
        }
        return .frames(UnsafeMutableRawBufferPointer(rebasing: candidates[..<end]))
    }

    /// The length of the frame that begins at `start`, which `append` wrote; nil if its header is incomplete.
    static func frameBytes(at start: Int, of frames: UnsafeRawBufferPointer) -> Int? {
        guard frames.count >= start + 2 else { return nil }
        let isLong = frames[start + 1] == 126
        guard !isLong || frames.count >= start + 4 else { return nil }
        return isLong ? 4 + (Int(frames[start + 2]) << 8 | Int(frames[start + 3])) : 2 + Int(frames[start + 1])
    }

    /// - Parameter written: as many bytes as `front` returned, or the length of the first of its frames.
    mutating func removeFirst(_ written: Int, to pool: BufferPool) {
        streamBytes -= min(streamBytes, written)
        output.removeFirst(written, to: pool)
    }

    mutating func release(to pool: BufferPool) {
        streamBytes = 0
        output.release(to: pool)
    }
}
