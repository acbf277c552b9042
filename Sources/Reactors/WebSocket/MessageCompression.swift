import CLibwebsockets
import Compression
import WebSocketWire

/// permessage-deflate on one WebSocket (RFC 7692), in both directions. A WebSocket without it has none of this. Reactor thread only.
///
/// What a client's messages inflate to is given to the session a step at a time. When the session wants no more, or has had its share of
/// the turn, the input that isn't inflated yet is held here and the socket isn't read: so a small message that becomes a large one costs
/// no memory, and no other session its turn.
final class MessageCompression {
    /// What one step inflates.
    static let stepBytes = 16_384
    /// What the messages of one WebSocket may inflate to in a turn of the loop. The rest waits for the next turn.
    static let inflatedBytesPerTurn = 262_144
    /// What a step counts for at least: messages that inflate to nothing cost time too.
    static let leastStepBytes = 256
    /// Of a turn's share, for a byte of input: as if it had inflated to so many.
    static let costOfInputByte = 8
    /// Input that isn't inflated yet. A WebSocket that holds some isn't read: two reads of 16 KiB can come until then.
    static let maximumHeldBytes = 65_536
    /// Of a message that is deflated at once, so that the result fits into one frame whatever the message is. Longer ones have several.
    static let maximumPieceBytes = 14_300

    let agreement: DeflateAgreement
    /// Its memory goes back with this object.
    private let lease: CompressionLease
    /// The session may turn it off: every message may be sent uncompressed (RFC 7692 §6).
    var isCompressing = true
    private var inflater: MessageInflater<MessageInflateEngine>
    /// Its own, or one that the WebSockets of a reactor share and that keeps no context.
    private var deflater: MessageDeflater<MessageDeflateEngine>
    private let shared: SharedDeflaters
    private let minimumBytes: Int
    /// Something was deflated since `rest` was called last.
    private var hasDeflated = true
    private var held: HeldInput?
    private var turn: UInt64 = 0
    private var inflatedInTurn = 0

    /// Input from the middle of a read on.
    struct HeldInput {
        var bytes: [UInt8]
        /// The piece that is at the front of `bytes`, unmasked; what follows it are frames.
        var piece: DataPiece
    }

    /// Nil where there is no memory for a deflater.
    init?(_ lease: CompressionLease, sharing shared: SharedDeflaters, minimumBytes: Int, limits: MessageLimits) {
        let agreement = lease.agreement
        let engine =
            agreement.serverKeepsContext
            ? try? MessageDeflateEngine(agreement, level: shared.level) : shared.engine(for: agreement)
        guard let engine else { return nil }
        self.lease = lease
        self.agreement = agreement
        self.shared = shared
        self.minimumBytes = minimumBytes
        inflater = MessageInflater(
            windowBits: agreement.clientWindowBits, keepsContext: agreement.clientKeepsContext, limits: limits)
        deflater = MessageDeflater(
            engine: engine, keepsContext: agreement.serverKeepsContext, minimumBytes: minimumBytes)
    }

    // MARK: From the client

    /// One step. Call it again with the same piece while it has more.
    func inflate(
        _ piece: DataPiece, _ input: UnsafeMutableRawBufferPointer, from position: inout Int,
        into room: UnsafeMutableRawBufferPointer
    ) throws(FrameFault) -> InflatedPiece {
        let bytes = input.assumingMemoryBound(to: UInt8.self).span
        var output = room.assumingMemoryBound(to: UInt8.self).mutableSpan
        let before = position
        let inflated = try inflater.inflate(piece, bytes, from: &position, into: &output)
        // Blocks that inflate to nothing cost as much as others.
        inflatedInTurn += max(inflated.count, Self.costOfInputByte * (position - before), Self.leastStepBytes)
        return inflated
    }

    /// Whether the WebSocket has something left of its share of this turn.
    func mayInflate(in turn: UInt64) -> Bool {
        if turn != self.turn { (self.turn, inflatedInTurn) = (turn, 0) }
        return inflatedInTurn < Self.inflatedBytesPerTurn
    }

    var isHolding: Bool { held != nil }

    /// Holds what is left of a piece, and all of the read behind it.
    func hold(_ piece: DataPiece, from position: Int, of input: UnsafeMutableRawBufferPointer) {
        let start = piece.range.lowerBound + position
        held = HeldInput(
            bytes: Array(input[start...]),
            piece: DataPiece(
                range: 0..<(piece.range.count - position), isText: piece.isText, isCompressed: true,
                isFirst: piece.isFirst, isLast: piece.isLast))
    }

    /// Holds a read behind what is held already.
    ///
    /// - Returns: false where it is more than a paused socket can bring.
    func hold(_ input: UnsafeMutableRawBufferPointer) -> Bool {
        held?.bytes.append(contentsOf: input)
        return (held?.bytes.count ?? 0) <= Self.maximumHeldBytes
    }

    func takeHeld() -> HeldInput? {
        defer { held = nil }
        return held
    }

    // MARK: Idle

    /// Gives memory back, from time to time: an inflater that keeps no context, between messages; and, where memory is tight, the deflater of
    /// a WebSocket that has sent nothing since the last time. It then uses a shared one, until it sends something and there is
    /// memory again.
    func rest() {
        inflater.releaseIdle()
        if lease.isDeflaterSuspended {
            if hasDeflated, lease.resumeDeflater() { useOwnDeflater() }
        } else if !hasDeflated, let engine = shared.engine(for: agreement), lease.suspendDeflater() {
            deflater = MessageDeflater(engine: engine, keepsContext: false, minimumBytes: minimumBytes)
        }
        hasDeflated = false
    }

    private func useOwnDeflater() {
        guard let engine = try? MessageDeflateEngine(agreement, level: shared.level) else {
            _ = lease.suspendDeflater()
            return
        }
        deflater = MessageDeflater(engine: engine, keepsContext: true, minimumBytes: minimumBytes)
    }

    // MARK: To the client

    /// Queues a message, compressed where that is allowed and pays.
    ///
    /// - Returns: false where the deflater has failed, which it does for no input: the WebSocket has to end.
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

    /// A whole message of at most `maximumPieceBytes`.
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
    /// - Parameter room: what it was inflated into.
    init(_ inflated: InflatedPiece, of room: UnsafeMutableRawBufferPointer) {
        self.init(
            bytes: UnsafeRawBufferPointer(rebasing: room[..<inflated.count]), isText: inflated.isText,
            isFirst: inflated.isFirst, isLast: inflated.isLast)
    }
}
