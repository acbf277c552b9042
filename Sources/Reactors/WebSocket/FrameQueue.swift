/// What waits to be written to a WebSocket, in order: first bytes that no frame holds yet, behind them whole frames.
///
/// Bytes of a stream get their frames when they are written, as large as the moment allows, and pass through here as they are. From the
/// first message on everything is framed as it comes in (RFC 6455 §5.2, unmasked), until the queue has run empty. So boundaries of
/// messages hold, the order is that of the calls, and what is written ends with a frame: libwebsockets may put a Pong or a Close behind it.
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
        var rest = bytes[...]
        var opcode = isText ? FrameHeader.Opcode.text : .binary
        repeat {
            let payload = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.maximumPayloadBytes))
            rest = rest.dropFirst(payload.count)
            FrameHeader(opcode: opcode, isFinal: rest.isEmpty, payloadBytes: payload.count).append(
                to: &output, from: pool)
            output.append(payload, from: pool)
            opcode = .continuation
        } while !rest.isEmpty
    }

    /// What is to be written next. Up to `LWS_PRE` bytes before it may be overwritten.
    func front() -> Front {
        if output.isEmpty { return .empty }
        if streamBytes > 0 { return .stream(output.front(limit: min(streamBytes, Self.maximumPayloadBytes))) }
        let candidates = output.front(limit: Self.maximumPayloadBytes + Self.maximumHeaderBytes)
        var end = 0
        while let header = FrameHeader(UnsafeRawBufferPointer(rebasing: candidates[end...])),
            end + header.frameBytes <= candidates.count
        {
            end += header.frameBytes
        }
        return .frames(UnsafeMutableRawBufferPointer(rebasing: candidates[..<end]))
    }

    /// - Parameter written: as many bytes as `front` gave, or as the first of its frames has.
    mutating func removeFirst(_ written: Int, to pool: BufferPool) {
        streamBytes -= min(streamBytes, written)
        output.removeFirst(written, to: pool)
    }

    mutating func release(to pool: BufferPool) {
        streamBytes = 0
        output.release(to: pool)
    }
}

/// The header of an unmasked frame whose payload is at most 65,535 bytes (RFC 6455 §5.2).
struct FrameHeader: Equatable {
    enum Opcode: UInt8 {
        case continuation = 0x0
        case text = 0x1
        case binary = 0x2
    }

    let opcode: Opcode
    let isFinal: Bool
    let payloadBytes: Int

    var bytes: Int { payloadBytes < 126 ? 2 : 4 }
    var frameBytes: Int { bytes + payloadBytes }

    init(opcode: Opcode, isFinal: Bool, payloadBytes: Int) {
        self.opcode = opcode
        self.isFinal = isFinal
        self.payloadBytes = payloadBytes
    }

    /// Reads back what `append` wrote; nil where `frames` ends before the header does.
    init?(_ frames: UnsafeRawBufferPointer) {
        guard frames.count >= 2, let opcode = Opcode(rawValue: frames[0] & 0xF) else { return nil }
        let isLong = frames[1] == 126
        guard !isLong || frames.count >= 4 else { return nil }
        self.opcode = opcode
        isFinal = frames[0] & 0x80 != 0
        payloadBytes = isLong ? Int(frames[2]) << 8 | Int(frames[3]) : Int(frames[1])
    }

    func append(to output: inout OutputBuffer, from pool: BufferPool) {
        let first = (isFinal ? 0x80 : 0) | opcode.rawValue
        let length = UInt16(truncatingIfNeeded: payloadBytes)
        let (high, low) = (UInt8(length >> 8), UInt8(length & 0xFF))
        let header = payloadBytes < 126 ? (first, low, 0, 0) : (first, 126, high, low)
        withUnsafeBytes(of: header) { output.append(UnsafeRawBufferPointer(rebasing: $0[..<bytes]), from: pool) }
    }
}
