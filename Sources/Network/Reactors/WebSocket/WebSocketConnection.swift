import CLibwebsockets
import WebSocketWire
package import WireText

/// One established client WebSocket (RFC 6455), over the bytes that libwebsockets transports. Reactor thread only.
///
/// `FrameReader` validates the input and unmasks it in place; what is more than the WebSocket's share of a turn waits:
/// see `WebSocketConnection+Input`. Output is collected and written at the end of the turn: stream bytes in binary
/// messages with arbitrary boundaries, messages whole and one by one. Its owner bounds it by `queuedBytes`.
package final class WebSocketConnection: Flushable {
    /// The maximum payload of a frame. Stream bytes are sent in messages of at most this size; longer messages are
    /// fragmented.
    package static let maximumFrameBytes = FrameQueue.maximumPayloadBytes

    package let peer: SocketAddress?
    package let reactor: Reactor
    /// Like `wsi`, set until `ended`.
    private(set) var owner: EdgeConnection?
    private(set) var wsi: OpaquePointer?
    private(set) var handler: (any WebSocketHandler)?
    // Unchecked, as elsewhere on a message's path: code that modifies these values must not call anything that could
    // re-enter them.
    @exclusivity(unchecked) var reader: FrameReader
    @exclusivity(unchecked) var closing = ClosingHandshake(limits: closingLimits)
    @exclusivity(unchecked) private var pongs = PongQueue()
    @exclusivity(unchecked) private var output = FrameQueue()
    /// Nil: no message is compressed, in either direction.
    private(set) var compression: MessageCompression?
    /// Input that was received and waits; nothing after it is processed before.
    @exclusivity(unchecked) var held: HeldInput?
    /// It is in the reactor's `InputQueue`.
    var isAwaitingTurn = false
    /// When its turn ends; nil: it is not its turn.
    var turnEnd: UInt64?
    @exclusivity(unchecked) var share = InputShare()
    @exclusivity(unchecked) var cost = InputCost()
    /// Frame bytes read and written, including headers: the TLS payload of this WebSocket.
    package var wireBytesRead: Int { cost.frameBytes }
    package private(set) var wireBytesWritten = 0
    private var wantsPing = false
    /// The payload of our Close frame, set once the frame is queued.
    private var closePayload: ControlPayload?
    private(set) var wantsPause = false
    private var isPaused = false
    /// OpenSSL may hold bytes that have not been read yet: see `ReadAhead`.
    private var mayHoldBytes = false
    private var isSocketEmpty = false
    private var hasReadSocket = false
    /// The last turn in which it was served. It is served once a turn, however often output is queued.
    private var turnOfReading: UInt64?
    var isDeferred = false  // Used by `Reactor.touchNextTurn`.
    var isTouched = false
    /// A high limit: the owner limits how long queued output may delay our Close frame (`CLOSE_FLUSH_MS`).
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

    /// Queued bytes, including the headers of frames that are already built.
    package var queuedBytes: Int { output.count + (owner?.unsentBytes ?? 0) }

    /// Sends stream bytes in binary messages whose boundaries have no meaning.
    package func send(_ bytes: UnsafeRawBufferPointer) {
        reactor.preconditionOnThread()
        guard wsi != nil, closing.maySend else { return }
        output.appendStream(bytes, from: reactor.buffers)
        reactor.touch(self)
    }

    /// Sends one message after everything sent before it.
    ///
    /// - Parameters:
    ///   - bytes: may be empty; an empty message is sent too.
    ///   - isText: the bytes are UTF-8; this isn't checked here (RFC 6455 §5.6).
    ///   - isSecret: the message is never compressed, so its length reveals nothing about it and later compressed
    ///     messages don't refer to it.
    package func sendMessage(_ bytes: UnsafeRawBufferPointer, isText: Bool, isSecret: Bool = false) {
        reactor.preconditionOnThread()
        guard wsi != nil, closing.maySend else { return }
        reactor.touch(self)
        // Stream bytes are compressed when they are written, and each message refers to those before it.
        guard let compression, compression.isCompressing, !isSecret, !output.hasStream else {
            return output.appendMessage(bytes, isText: isText, from: reactor.buffers)
        }
        guard compression.append(bytes, isText: isText, to: &output, from: reactor.buffers) else {
            return close(code: CloseCode.internalError.rawValue, reason: "")
        }
    }

    /// Compression was negotiated. The gateway's own messages may still be uncompressed.
    package var isCompressed: Bool { compression != nil }

    /// Turns compression of messages to the client on or off, if it was negotiated.
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

    /// Pauses and resumes reading from the socket. While it is paused, TCP flow control slows the client down. The
    /// socket isn't polled then, so only a write detects that the client is gone: the owner must keep sending pings.
    ///
    /// Takes effect at the end of the turn. Bytes read by then, at most two TLS records, are still delivered, in this
    /// turn or a later one. Of compressed ones nothing more is inflated.
    package func setReading(paused: Bool) {
        reactor.preconditionOnThread()
        guard wsi != nil, paused != wantsPause else { return }
        wantsPause = paused
        reactor.touch(self)
    }

    /// Sends the queue, then a Close frame, then waits for the client's (RFC 6455 §7.1.2). Only the first call has an
    /// effect.
    ///
    /// - Parameters:
    ///   - code: a code that may not be sent (RFC 6455 §7.4.1) becomes 1011.
    ///   - reason: at most 123 bytes of UTF-8; longer ones are cut.
    package func close(code: UInt16, reason: String) {
        reactor.preconditionOnThread()
        guard wsi != nil else { return }
        perform(closing.close(CloseCode(rawValue: code) ?? .internalError, reason: reason, now: reactor.now))
    }

    /// The same, and the handler still gets what the client has sent before its Close frame, and then
    /// `webSocketPeerClosed`.
    ///
    /// - Parameter nanoseconds: from our Close frame to the client's, if that is longer than without input to be heard.
    package func closeAfterInput(code: UInt16, reason: String, within nanoseconds: UInt64) {
        closing.restNanoseconds = nanoseconds
        close(code: code, reason: reason)
    }

    /// Ends the connection without a Close frame.
    package func drop() {
        reactor.preconditionOnThread()
        owner?.kill()
    }

    // MARK: From the connection

    func opened() { handler?.webSocketOpened(self) }
    func answer(_ ping: ControlPayload) {
        guard closing.maySend, let payload = pongs.received(ping) else { return }
        output.appendControl(.pong, payload, from: reactor.buffers)
        reactor.touch(self)
    }

    func peerClosed(_ close: PeerClose) {
        let isNews = closing.delivers
        perform(closing.received(close, now: reactor.now))
        if isNews { handler?.webSocketPeerClosed(code: close.code?.rawValue) }
    }

    /// The connection's deadline has passed; it is the closing handshake's.
    func timePassed(now: UInt64) { perform(closing.passed(now: now)) }
    /// The last event for this WebSocket.
    func ended() {
        guard let handler else { return }
        self.handler = nil
        leaveInputQueue()
        if let wsi { ReadAhead.end(on: wsi) }
        wsi = nil
        owner = nil
        compression = nil
        output.release(to: reactor.buffers)
        handler.webSocketClosed()
    }

    // MARK: The closing handshake

    func perform(_ action: ClosingHandshake.Action) {
        switch action {
        case .none: break
        case .queueClose(let payload): queueClose(payload)
        case .replaceQueue(let payload):
            output.release(to: reactor.buffers)
            queueClose(payload)
        case .dropQueuedData:
            output.release(to: reactor.buffers)
            queueClose(closePayload ?? ControlPayload())
        // Done at the end of the turn, not inside a callback of libwebsockets.
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

    /// Called by OpenSSL, inside a callback of libwebsockets.
    ///
    /// - Parameter bytes: 0: the socket is empty.
    func socketWasRead(bytes: Int) {
        isSocketEmpty = bytes == 0
        guard bytes > 0 else { return }
        cost.readSocket(bytes)
        hasReadSocket = true
        mayHoldBytes = true
        reactor.touch(self)
    }

    /// Runs before any write, so that all available input is answered together. Input that the socket delivers later
    /// waits for the next turn, after the other connections.
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
            // The rest of the record has not arrived yet.
            if isSocketEmpty {
                mayHoldBytes = false
                return reportCost()
            }
        }
        guard holdsBytes else { return mayHoldBytes = false }
        if !pauses { reactor.touchNextTurn(self) }
    }

    private var holdsBytes: Bool { wsi.map(ReadAhead.holdsBytes) ?? false }
    // MARK: Writing

    /// Writes until the socket is full or the queue is empty.
    func flush() {
        awaitTurn()
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

    /// A closing connection is read although its handler pauses it, to receive the client's Close frame.
    private var pauses: Bool { held != nil || (wantsPause && closing.delivers) }

    /// Never call it inside a callback: libwebsockets would buffer the rest of its read, and spins if TLS still holds
    /// part of the record.
    private func applyPause(to wsi: OpaquePointer) {
        let pauses = pauses
        guard pauses != isPaused else { return }
        isPaused = pauses
        lws_rx_flow_control(wsi, pauses ? 0 : 1)
        // libwebsockets serves its buffered input from its next turn.
        if !pauses { lws_cancel_service(lws_get_context(wsi)) }
    }

    /// - Returns: the number of queued bytes written; nil if the connection is broken.
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

    /// Writes stream bytes as one compressed message. They are compressed only now, when the socket can take them.
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
        defer { wantsPing = false }
        guard wantsPing, closing.maySend else { return }
        output.appendControl(.ping, ControlPayload(), from: reactor.buffers)
    }
}
