import CLibwebsockets
import Compression
import WebSocketWire

/// permessage-deflate on one WebSocket (RFC 7692), in both directions. Created only if it was negotiated. Reactor
/// thread only.
///
/// A client's messages are inflated and delivered to the session in steps. If the session pauses, or has used up its
/// share of the turn, the compressed rest is held (`HeldInput`) and the socket isn't read. A small message that
/// inflates to a large one therefore costs no extra memory and doesn't delay other sessions.
final class MessageCompression {
    /// The maximum output of one step.
    static let stepBytes = 16_384
    /// The bytes of the turn's share that one byte of input counts for, whatever it inflates to: blocks that inflate to
    /// nothing cost as much time as others.
    static let costOfInputByte = 8
    /// The maximum size of a message deflated at once, so that the result always fits into one frame. Longer messages
    /// are sent in several frames.
    static let maximumPieceBytes = 14_300

    let agreement: DeflateAgreement
    /// The memory is returned when this object is released.
    private let memoryShare: CompressionShare
    /// The session may turn it off: any message may be sent uncompressed (RFC 7692 §6).
    var isCompressing = true
    private var inflater: MessageInflater<MessageInflateEngine>
    /// Its own engine, or one without context that the reactor's WebSockets share.
    private var deflater: MessageDeflater<MessageDeflateEngine>
    private let shared: SharedDeflaters
    private let minimumBytes: Int
    /// Whether a message was deflated since the last call of `rest`.
    private var hasDeflated = true

    /// Nil if there is no memory for a deflater.
    init?(_ memoryShare: CompressionShare, sharing shared: SharedDeflaters, minimumBytes: Int, limits: MessageLimits) {
        let agreement = memoryShare.agreement
        let engine =
            agreement.serverKeepsContext
            ? try? MessageDeflateEngine(agreement, level: shared.level) : shared.engine(for: agreement)
        guard let engine else { return nil }
        self.memoryShare = memoryShare
        self.agreement = agreement
        self.shared = shared
        self.minimumBytes = minimumBytes
        inflater = MessageInflater(
            windowBits: agreement.clientWindowBits, keepsContext: agreement.clientKeepsContext, limits: limits)
        deflater = MessageDeflater(
            engine: engine, keepsContext: agreement.serverKeepsContext, minimumBytes: minimumBytes)
    }

    // MARK: From the client

    /// Inflates one step. Call it again with the same piece while it has more.
    func inflate(
        _ piece: DataPiece, _ input: UnsafeMutableRawBufferPointer, from position: inout Int,
        into room: UnsafeMutableRawBufferPointer
    ) throws(FrameFault) -> InflatedPiece {
        let bytes = input.assumingMemoryBound(to: UInt8.self).span
        var output = room.assumingMemoryBound(to: UInt8.self).mutableSpan
        return try inflater.inflate(piece, bytes, from: &position, into: &output)
    }

    // MARK: Idle

    /// Returns memory, called periodically. Between messages it frees an inflater that keeps no context. If memory is
    /// tight, it also frees the deflater of a WebSocket that has sent nothing since the last call; the WebSocket then
    /// uses a shared one until it sends something and memory is available again.
    func rest() {
        inflater.releaseIdle()
        if memoryShare.isDeflaterSuspended {
            if hasDeflated, memoryShare.resumeDeflater() { useOwnDeflater() }
        } else if !hasDeflated, let engine = shared.engine(for: agreement), memoryShare.suspendDeflater() {
            deflater = MessageDeflater(engine: engine, keepsContext: false, minimumBytes: minimumBytes)
        }
        hasDeflated = false
    }

    private func useOwnDeflater() {
        guard let engine = try? MessageDeflateEngine(agreement, level: shared.level) else {
            _ = memoryShare.suspendDeflater()
            return
        }
        deflater = MessageDeflater(engine: engine, keepsContext: true, minimumBytes: minimumBytes)
    }

    // MARK: To the client

    /// Queues a message, compressed if that is allowed and worthwhile.
    ///
    /// - Returns: false if the deflater failed, which no input can cause: the WebSocket must end.
    func append(
        _ message: UnsafeRawBufferPointer, isText: Bool, to queue: inout FrameQueue, from pool: BufferPool
    ) -> Bool {
        let room = pool.take(FrameQueue.maximumPayloadBytes)
        defer { pool.give(room) }
        guard message.count > Self.maximumPieceBytes else {
            switch deflated(message, into: room) {
            case .failed: return false
            case .unchanged: queue.appendMessage(message, isText: isText, from: pool)
            case .deflated(let count):
                queue.append(
                    FrameHeader(isText ? .text : .binary, isCompressed: true, payloadBytes: count),
                    UnsafeRawBufferPointer(rebasing: room[..<count]), from: pool)
            }
            return true
        }
        var rest = message
        var opcode = isText ? Opcode.text : .binary
        while !rest.isEmpty {
            let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.maximumPieceBytes))
            rest = UnsafeRawBufferPointer(rebasing: rest[piece.count...])
            guard let count = deflated(piece, isFirst: opcode != .continuation, isLast: rest.isEmpty, into: room) else {
                return false
            }
            queue.append(
                FrameHeader(
                    opcode, isFinal: rest.isEmpty, isCompressed: opcode != .continuation, payloadBytes: count),
                UnsafeRawBufferPointer(rebasing: room[..<count]), from: pool)
            opcode = .continuation
        }
        return true
    }

    enum Deflated {
        case unchanged
        case deflated(Int)
        case failed
    }

    /// Deflates a whole message of at most `maximumPieceBytes`.
    func deflated(_ message: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer) -> Deflated {
        hasDeflated = true
        var output = room.assumingMemoryBound(to: UInt8.self).mutableSpan
        do throws(DeflateEngineFault) {
            switch try deflater.deflate(message.assumingMemoryBound(to: UInt8.self).span, into: &output) {
            case .unchanged: return .unchanged
            case .deflated(let count): return .deflated(count)
            }
        } catch {
            return .failed
        }
    }

    private func deflated(
        _ piece: UnsafeRawBufferPointer, isFirst: Bool, isLast: Bool, into room: UnsafeMutableRawBufferPointer
    ) -> Int? {
        hasDeflated = true
        var output = room.assumingMemoryBound(to: UInt8.self).mutableSpan
        let input = piece.assumingMemoryBound(to: UInt8.self).span
        return try? deflater.deflate(piece: input, isFirst: isFirst, isLast: isLast, into: &output)
    }
}

extension MessagePiece {
    /// - Parameter room: the buffer it was inflated into.
    init(_ inflated: InflatedPiece, of room: UnsafeMutableRawBufferPointer) {
        self.init(
            bytes: UnsafeRawBufferPointer(rebasing: room[..<inflated.count]), isText: inflated.isText,
            isFirst: inflated.isFirst, isLast: inflated.isLast)
    }
}
