import CLibwebsockets
import WebSocketWire

/// One established WebSocket of a client's (RFC 6455), over the bytes that libwebsockets carries. Reactor thread only.
///
/// Input is judged by `FrameReader` and unmasked in place. Output is collected and written at the end of the turn: bytes of a stream in
/// binary messages as they happen to fall, messages whole and one by one. The owner bounds it by `queuedBytes`. When and how the connection
/// ends is `ClosingHandshake`'s to say.
package final class WebSocketConnection: Flushable {
    /// Of a frame's payload: a stream's bytes come in messages of at most so many, longer messages in fragments.
    package static let maximumFrameBytes = FrameQueue.maximumPayloadBytes

    package let peer: PeerAddress?
    package let reactor: Reactor
    /// As `wsi`: until `ended`.
    private var owner: EdgeConnection?
    private var wsi: OpaquePointer?
    private var handler: (any WebSocketHandler)?
    // Unchecked, as elsewhere on a message's path: while they change these values call nothing that could come back to them.
    @exclusivity(unchecked) private var reader: FrameReader
    @exclusivity(unchecked) private var closing = ClosingHandshake(limits: closingLimits)
    @exclusivity(unchecked) private var pongs = PongQueue()
    @exclusivity(unchecked) private var output = FrameQueue()
    /// Nil: no message is compressed, in either direction.
    private var compression: MessageCompression?
    /// Bytes of frames, with their headers, that were read and written: what TLS carries of this WebSocket.
    package private(set) var wireBytesRead = 0
    package private(set) var wireBytesWritten = 0
    private var wantsPing = false
    /// The payload of our Close frame, from the moment on that it is queued.
    private var closePayload: ControlPayload?
    private var wantsPause = false
    private var isPaused = false
    /// OpenSSL may hold what nobody has asked for: see `ReadAhead`.
    private var mayHoldBytes = false
    private var isSocketEmpty = false
    private var hasReadSocket = false
    /// The turn in which it was served last: once a turn, however often something is to be written.
    private var turnOfReading: UInt64?
    var isDeferred = false  // Of `Reactor.touchNextTurn`.
    var isTouched = false

    /// How long queued output may keep our Close frame waiting is the owner's to say (`CLOSE_FLUSH_MS`).
    private static let closingLimits = ClosingHandshake.Limits(writeNanoseconds: 600_000_000_000)

    init(
        owner: EdgeConnection, wsi: OpaquePointer, handler: any WebSocketHandler, limits: MessageLimits,
        compression: MessageCompression?
    ) {
        self.owner = owner
        self.wsi = wsi
        self.handler = handler
        peer = owner.peer
        reactor = owner.reactor
        self.compression = compression
        reader = FrameReader(limits: limits, allowsCompression: compression != nil)
        ReadAhead.begin(on: wsi, for: self)
    }

    // MARK: For the handler

    /// Bytes that wait here, with the headers of their frames where they have them.
    package var queuedBytes: Int { output.count + (owner?.unsentBytes ?? 0) }

    /// Sends bytes of a stream, in binary messages whose boundaries mean nothing.
    package func send(_ bytes: UnsafeRawBufferPointer) {
        reactor.preconditionOnThread()
        guard wsi != nil, closing.maySend else { return }
        output.appendStream(bytes, from: reactor.buffers)
        reactor.touch(self)
    }

    /// Sends one message, behind everything that was sent before it.
    ///
    /// - Parameters:
    ///   - bytes: may be empty, which is a message too.
    ///   - isText: the bytes are UTF-8; nobody checks it here (RFC 6455 §5.6).
    ///   - isSecret: the message is never compressed. So its length tells nothing of it, and nothing that is compressed later refers to it.
    package func sendMessage(_ bytes: UnsafeRawBufferPointer, isText: Bool, isSecret: Bool = false) {
        reactor.preconditionOnThread()
        guard wsi != nil, closing.maySend else { return }
        reactor.touch(self)
        // Bytes of a stream are compressed when they are written, and each message refers to those before it.
        guard let compression, compression.isCompressing, !isSecret, !output.hasStream else {
            return output.appendMessage(bytes, isText: isText, from: reactor.buffers)
        }
        guard compression.append(bytes, isText: isText, to: &output, from: reactor.buffers) else {
            return close(code: CloseCode.internalError.rawValue, reason: "")
        }
    }

    /// Compression was agreed on. What the gateway sends may still be uncompressed.
    package var isCompressed: Bool { compression != nil }

    /// Whether messages to the client are compressed from now on, if that was agreed on.
    package func setCompressing(_ isCompressing: Bool) {
        reactor.preconditionOnThread()
        compression?.isCompressing = isCompressing
    }

    package func ping() {
        reactor.preconditionOnThread()
        compression?.rest()
        wantsPing = true
        reactor.touch(self)
    }

    /// Stops and starts the reading of the socket: TCP then slows the client down. While it isn't read nobody polls it either, so
    /// only writing tells that the client is gone: the owner's pings have to go on.
    ///
    /// It counts from the end of the turn: what has been read by then, at most one TLS record, is still delivered.
    package func setReading(paused: Bool) {
        reactor.preconditionOnThread()
        guard wsi != nil, paused != wantsPause else { return }
        wantsPause = paused
        reactor.touch(self)
    }

    /// Sends what is queued, then a Close frame, then waits for the client's (RFC 6455 §7.1.2). The first call counts.
    ///
    /// - Parameters:
    ///   - code: one that may not be sent (RFC 6455 §7.4.1) becomes 1011.
    ///   - reason: at most 123 bytes of UTF-8; longer ones are cut.
    package func close(code: UInt16, reason: String) {
        reactor.preconditionOnThread()
        guard wsi != nil else { return }
        perform(closing.close(CloseCode(rawValue: code) ?? .internalError, reason: reason, now: reactor.now))
    }

    /// Ends the connection without a Close frame.
    package func drop() {
        reactor.preconditionOnThread()
        owner?.kill()
    }

    // MARK: From the connection

    func opened() { handler?.webSocketOpened(self) }

    /// - Parameter input: decrypted bytes, which are unmasked in place.
    func received(_ input: UnsafeMutableRawBufferPointer) {
        wireBytesRead &+= input.count
        if let compression, compression.isHolding {
            if !compression.hold(input) { owner?.kill() }
            return
        }
        read(input, from: 0)
        // The socket is paused at the end of the turn.
        if compression?.isHolding == true { reactor.touch(self) }
    }

    private func read(_ input: UnsafeMutableRawBufferPointer, from start: Int) {
        var bytes = input.assumingMemoryBound(to: UInt8.self).mutableSpan
        var position = start
        while let owner, !owner.isDoomed, closing.reads, let event = reader.next(in: &bytes, from: &position) {
            switch event {
            case .data(let piece) where piece.isCompressed:
                guard inflate(piece, of: input) else { return }
            case .data(let piece): deliver(piece, of: input)
            case .ping(let payload):
                handler?.webSocketReceivedControlFrame(bytes: payload.count)
                answer(payload)
            case .pong(let payload):
                handler?.webSocketReceivedControlFrame(bytes: payload.count)
                handler?.webSocketHeardPong()
            case .close(let close): peerClosed(close)
            case .fault(let fault):
                handler?.webSocketPeerFailed(code: fault.closeCode.rawValue)
                perform(closing.failed(fault, now: reactor.now))
            }
        }
    }

    private func deliver(_ piece: DataPiece, of input: UnsafeMutableRawBufferPointer) {
        guard closing.delivers else { return }
        handler?.webSocketReceived(
            MessagePiece(
                bytes: UnsafeRawBufferPointer(rebasing: input[piece.range]), isText: piece.isText,
                isFirst: piece.isFirst, isLast: piece.isLast))
    }

    // MARK: Inflating

    /// Gives the handler what a piece inflates to, step by step.
    ///
    /// - Returns: false where the rest, with all of `input` behind it, is held for later.
    private func inflate(_ piece: DataPiece, of input: UnsafeMutableRawBufferPointer) -> Bool {
        guard let compression else { return true }
        let room = reactor.buffers.take(MessageCompression.stepBytes)
        defer { reactor.buffers.give(room) }
        let bytes = UnsafeMutableRawBufferPointer(rebasing: input[piece.range])
        var position = 0
        while let owner, !owner.isDoomed, closing.delivers {
            guard compression.mayInflate(in: reactor.turn), !wantsPause else {
                compression.hold(piece, from: position, of: input)
                // Otherwise the handler's word wakes it.
                if !wantsPause { reactor.touchNextTurn(self) }
                return false
            }
            do throws(FrameFault) {
                let before = position
                let inflated = try compression.inflate(piece, bytes, from: &position, into: room)
                let surplus = position - before - inflated.count
                if surplus > 0 { handler?.webSocketReceivedSurplus(bytes: surplus) }
                if inflated.count > 0 || inflated.isLast {
                    handler?.webSocketReceived(MessagePiece(inflated, of: room))
                }
                if !inflated.hasMore { return true }
            } catch {
                handler?.webSocketPeerFailed(code: error.closeCode.rawValue)
                perform(closing.failed(error, now: reactor.now))
            }
        }
        return true
    }

    /// At the end of a turn: goes on with input that was held.
    private func readHeld() {
        guard let compression, compression.isHolding, !(wantsPause && closing.delivers) else { return }
        guard compression.mayInflate(in: reactor.turn) || !closing.delivers else { return reactor.touchNextTurn(self) }
        guard var held = compression.takeHeld() else { return }
        let piece = held.piece
        held.bytes.withUnsafeMutableBytes { input in
            if inflate(piece, of: input) { read(input, from: piece.range.upperBound) }
        }
    }

    private func answer(_ ping: ControlPayload) {
        guard closing.maySend, let payload = pongs.received(ping) else { return }
        output.appendControl(.pong, payload, from: reactor.buffers)
        reactor.touch(self)
    }

    private func peerClosed(_ close: PeerClose) {
        let isNews = closing.delivers
        perform(closing.received(close, now: reactor.now))
        if isNews { handler?.webSocketPeerClosed(code: close.code?.rawValue) }
    }

    /// The connection's deadline, which is the closing handshake's.
    func timePassed(now: UInt64) { perform(closing.passed(now: now)) }

    /// The last word about this WebSocket.
    func ended() {
        guard let handler else { return }
        self.handler = nil
        if let wsi { ReadAhead.end(on: wsi) }
        wsi = nil
        owner = nil
        compression = nil
        output.release(to: reactor.buffers)
        handler.webSocketClosed()
    }

    // MARK: The closing handshake

    private func perform(_ action: ClosingHandshake.Action) {
        switch action {
        case .none: break
        case .queueClose(let payload): queueClose(payload)
        case .replaceQueue(let payload):
            output.release(to: reactor.buffers)
            queueClose(payload)
        case .dropQueuedData:
            output.release(to: reactor.buffers)
            queueClose(closePayload ?? ControlPayload())
        // Not inside a callback of libwebsockets: at the end of the turn.
        case .endTCP: reactor.touch(self)
        case .abortTCP: owner?.kill()
        }
        owner?.arm(at: closing.deadline)
    }

    private func queueClose(_ payload: ControlPayload) {
        closePayload = payload
        output.appendControl(.close, payload, from: reactor.buffers)
        reactor.touch(self)
    }

    // MARK: Reading ahead

    /// From OpenSSL, inside a callback of libwebsockets.
    func socketWasRead(isEmpty: Bool) {
        isSocketEmpty = isEmpty
        guard !isEmpty else { return }
        hasReadSocket = true
        mayHoldBytes = true
        reactor.touch(self)
    }

    /// Before anything is written: so all that has come is answered together. What the socket brings beyond that is for the next turn,
    /// behind the other connections.
    private func readOn() {
        guard mayHoldBytes, !isPaused, !pauses else { return }
        guard holdsBytes else { return mayHoldBytes = false }
        guard turnOfReading != reactor.turn else { return reactor.touchNextTurn(self) }
        turnOfReading = reactor.turn
        hasReadSocket = false
        for _ in 0..<ReadAhead.recordsPerTurn {
            guard !hasReadSocket, !pauses, let wsi, holdsBytes else { break }
            isSocketEmpty = false
            ReadAhead.serve(wsi)
            // The rest of a record is still to come.
            if isSocketEmpty { return mayHoldBytes = false }
        }
        guard holdsBytes else { return mayHoldBytes = false }
        if !pauses { reactor.touchNextTurn(self) }
    }

    private var holdsBytes: Bool { wsi.map(ReadAhead.holdsBytes) ?? false }

    // MARK: Writing

    /// Writes until the socket is full or nothing is left.
    func flush() {
        if compression != nil { readHeld() }
        guard let wsi, let owner else { return }
        applyPause(to: wsi)
        readOn()
        guard self.wsi != nil else { return }
        if closing.hasEnded { return owner.finish() }
        let before = queuedBytes
        queuePing()
        guard owner.writeUnsent(to: wsi) else { return owner.kill() }
        while !output.isEmpty, owner.mayWrite(to: wsi) {
            guard let written = writeFront(to: owner, wsi) else { return owner.kill() }
            output.removeFirst(written, to: reactor.buffers)
        }
        if queuedBytes == 0 { drained() } else { lws_callback_on_writable(wsi) }
        if queuedBytes < before { handler?.webSocketWrote() }
    }

    private func drained() {
        if closing.maySend, let payload = pongs.drained() {
            output.appendControl(.pong, payload, from: reactor.buffers)
            reactor.touch(self)
        }
        guard closePayload != nil else { return }
        perform(closing.closeWritten(now: reactor.now))
    }

    /// A connection that closes is always read: the client's Close has to be heard.
    private var pauses: Bool { (wantsPause || compression?.isHolding == true) && closing.delivers }

    /// Never inside a callback: the rest of what libwebsockets has read would be put aside, and it spins when TLS still holds a part of the
    /// record.
    private func applyPause(to wsi: OpaquePointer) {
        let pauses = pauses
        guard pauses != isPaused else { return }
        isPaused = pauses
        lws_rx_flow_control(wsi, pauses ? 0 : 1)
        // What libwebsockets holds back is served from its next turn.
        if !pauses { lws_cancel_service(lws_get_context(wsi)) }
    }

    /// - Returns: how many bytes of the queue were written; nil when the connection is broken.
    private func writeFront(to owner: EdgeConnection, _ wsi: OpaquePointer) -> Int? {
        if let compression, compression.isCompressing, output.hasStream {
            return writeStream(compression, to: owner, wsi)
        }
        switch output.front() {
        case .empty: return 0
        case .stream(let bytes): return write(FrameQueue.framed(bytes), to: owner, wsi) ? bytes.count : nil
        case .frames(let frames): return write(frames, to: owner, wsi) ? frames.count : nil
        }
    }

    private func write(_ bytes: UnsafeMutableRawBufferPointer, to owner: EdgeConnection, _ wsi: OpaquePointer) -> Bool {
        wireBytesWritten &+= bytes.count
        return owner.write(bytes, to: wsi)
    }

    /// The same of bytes of a stream, as one compressed message. They are compressed only now, when the socket takes them.
    private func writeStream(_ deflater: MessageCompression, to owner: EdgeConnection, _ wsi: OpaquePointer) -> Int? {
        guard case .stream(let bytes) = output.front(streamLimit: MessageCompression.maximumPieceBytes) else {
            return 0
        }
        let front = PORTCULLIS_LWS_PRE + FrameQueue.maximumHeaderBytes
        let block = reactor.buffers.take(front + FrameQueue.maximumPayloadBytes)
        defer { reactor.buffers.give(block) }
        let room = UnsafeMutableRawBufferPointer(rebasing: block[front...].prefix(FrameQueue.maximumPayloadBytes))
        let isWritten =
            switch deflater.deflated(UnsafeRawBufferPointer(bytes), into: room) {
            case .failed: false
            case .unchanged: write(FrameQueue.framed(bytes), to: owner, wsi)
            case .deflated(let count):
                write(
                    FrameQueue.framed(UnsafeMutableRawBufferPointer(rebasing: room[..<count]), isCompressed: true),
                    to: owner, wsi)
            }
        return isWritten ? bytes.count : nil
    }

    private func queuePing() {
        guard wantsPing else { return }
        wantsPing = false
        guard closing.maySend else { return }
        output.appendControl(.ping, ControlPayload(), from: reactor.buffers)
    }
}
