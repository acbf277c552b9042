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
    private unowned let owner: EdgeConnection
    private var wsi: OpaquePointer?
    private var handler: (any WebSocketHandler)?
    private var reader: FrameReader
    private var closing = ClosingHandshake(limits: closingLimits)
    private var pongs = PongQueue()
    private var output = FrameQueue()
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
    /// Of `Reactor.touchNextTurn`.
    var isDeferred = false
    var isTouched = false

    /// How long queued output may keep our Close frame waiting is the owner's to say (`CLOSE_FLUSH_MS`).
    private static let closingLimits = ClosingHandshake.Limits(writeNanoseconds: 600_000_000_000)

    init(owner: EdgeConnection, wsi: OpaquePointer, handler: any WebSocketHandler, maximumMessageBytes: Int) {
        self.owner = owner
        self.wsi = wsi
        self.handler = handler
        peer = owner.peer
        reactor = owner.reactor
        reader = FrameReader(limits: MessageLimits(messageBytes: maximumMessageBytes))
        ReadAhead.begin(on: wsi, for: self)
    }

    // MARK: For the handler

    /// Bytes that wait here, with the headers of their frames where they have them.
    package var queuedBytes: Int { output.count }

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
    package func sendMessage(_ bytes: UnsafeRawBufferPointer, isText: Bool) {
        reactor.preconditionOnThread()
        guard wsi != nil, closing.maySend else { return }
        output.appendMessage(bytes, isText: isText, from: reactor.buffers)
        reactor.touch(self)
    }

    package func ping() {
        reactor.preconditionOnThread()
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
        // Behind the end the owner may be gone.
        if wsi != nil { owner.kill() }
    }

    // MARK: From the connection

    func opened() { handler?.webSocketOpened(self) }

    /// - Parameter input: decrypted bytes, which are unmasked in place.
    func received(_ input: UnsafeMutableRawBufferPointer) {
        var bytes = input.assumingMemoryBound(to: UInt8.self).mutableSpan
        var position = 0
        while wsi != nil, !owner.isDoomed, closing.reads, let event = reader.next(in: &bytes, from: &position) {
            switch event {
            case .data(let piece): deliver(piece, of: input)
            case .ping(let payload):
                handler?.webSocketReceivedControlFrame(bytes: payload.count)
                answer(payload)
            case .pong(let payload):
                handler?.webSocketReceivedControlFrame(bytes: payload.count)
                handler?.webSocketHeardPong()
            case .close(let close): peerClosed(close)
            case .fault(let fault): perform(closing.failed(fault, now: reactor.now))
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
        output.release(to: reactor.buffers)
        handler.webSocketClosed()
    }

    // MARK: The closing handshake

    private func perform(_ action: ClosingHandshake.Action) {
        switch action {
        case .none: break
        case .queueClose(let payload): queueClose(payload)
        case .replaceQueue(let payload):
            output.dropUnsent(to: reactor.buffers)
            queueClose(payload)
        case .dropQueuedData:
            output.dropUnsent(to: reactor.buffers)
            queueClose(closePayload ?? ControlPayload())
        // Not inside a callback of libwebsockets: at the end of the turn.
        case .endTCP: reactor.touch(self)
        case .abortTCP: owner.kill()
        }
        owner.arm(at: closing.deadline)
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
        guard let wsi else { return }
        applyPause(to: wsi)
        readOn()
        guard self.wsi != nil else { return }
        if closing.hasEnded { return owner.finish() }
        let before = output.count
        queuePing()
        while !output.isEmpty, !owner.isFull {
            guard writeFront(to: wsi) else { return owner.kill() }
        }
        if output.isEmpty { drained() } else { lws_callback_on_writable(wsi) }
        if output.count < before { handler?.webSocketWrote() }
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
    private var pauses: Bool { wantsPause && closing.delivers }

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

    /// - Returns: false when the connection is broken.
    private func writeFront(to wsi: OpaquePointer) -> Bool {
        switch output.front() {
        case .empty: return true
        case .stream(let bytes): return write(FrameQueue.framed(bytes), queued: bytes.count, to: wsi)
        case .frames(let frames): return write(frames, queued: frames.count, to: wsi)
        }
    }

    /// - Parameter queued: how many bytes of the queue these are.
    private func write(_ frames: UnsafeMutableRawBufferPointer, queued: Int, to wsi: OpaquePointer) -> Bool {
        switch owner.write(frames, to: wsi) {
        case .written: output.removeFirst(queued, to: reactor.buffers)
        case .full: output.begin(queued)
        case .broken: return false
        }
        return true
    }

    private func queuePing() {
        guard wantsPing else { return }
        wantsPing = false
        guard closing.maySend else { return }
        output.appendControl(.ping, ControlPayload(), from: reactor.buffers)
    }
}
