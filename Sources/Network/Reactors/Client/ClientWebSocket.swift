import CLibwebsockets
import WebSocketWire
import WireText

/// The events of a client's WebSocket, on the reactor's thread.
package protocol ClientWebSocketHandler: WebSocketEvents {
    func webSocketOpened(_ webSocket: ClientWebSocket)
}

/// One established client WebSocket on libwebsockets' WebSocket role. Tools use it to test the gateway against framing
/// that isn't the gateway's own. Reactor thread only.
///
/// Output is collected and written at the end of the turn. Stream bytes go out in binary messages with arbitrary
/// boundaries; messages go out whole, one by one. The owner bounds the output by `queuedBytes`.
package final class ClientWebSocket: Flushable {
    /// The maximum payload of a frame. Stream bytes are sent in messages of at most this size; longer messages are
    /// fragmented.
    package static let maximumFrameBytes = FrameQueue.maximumPayloadBytes

    package let reactor: Reactor
    private unowned let owner: LWSOwner
    private var wsi: OpaquePointer?
    private var handler: (any ClientWebSocketHandler)?
    private let maximumMessageBytes: Int
    /// Time limit for sending the answer to the peer's Close frame. libwebsockets gives our own Close frame the same
    /// time.
    private static let closeSeconds: Int32 = 5

    private var output = FrameQueue()
    private var wantsPing = false
    private var closing: (code: UInt16, reason: String)?
    private var hasBegunClose = false
    private var messageBytes = 0
    private var isInsideMessage = false
    private var text = UTF8Validator()
    /// Nothing is delivered after a Close frame in either direction (RFC 6455 §5.5.1).
    private var isDeaf = false
    private var wantsPause = false
    private var isPaused = false
    var isTouched = false

    init(
        owner: LWSOwner, wsi: OpaquePointer, handler: any ClientWebSocketHandler, maximumMessageBytes: Int
    ) {
        self.owner = owner
        self.wsi = wsi
        self.handler = handler
        self.maximumMessageBytes = maximumMessageBytes
        reactor = owner.reactor
    }

    // MARK: For the handler

    /// Bytes that wait to be written, including the headers of frames that are already built.
    package var queuedBytes: Int { output.count }

    /// Sends stream bytes in binary messages whose boundaries have no meaning.
    package func send(_ bytes: UnsafeRawBufferPointer) {
        reactor.preconditionOnThread()
        guard wsi != nil, closing == nil else { return }
        output.appendStream(bytes, from: reactor.buffers)
        reactor.touch(self)
    }

    /// Sends one message after everything sent before it.
    ///
    /// - Parameters:
    ///   - bytes: may be empty; an empty message is sent too.
    ///   - isText: the bytes are UTF-8; this isn't checked here (RFC 6455 §5.6).
    package func sendMessage(_ bytes: UnsafeRawBufferPointer, isText: Bool) {
        reactor.preconditionOnThread()
        guard wsi != nil, closing == nil else { return }
        output.appendMessage(bytes, isText: isText, from: reactor.buffers)
        reactor.touch(self)
    }

    package func ping() {
        reactor.preconditionOnThread()
        wantsPing = true
        reactor.touch(self)
    }

    /// Pauses and resumes reading from the socket. While it is paused, TCP flow control slows the peer down. The socket
    /// isn't polled then, so only a write detects that the peer is gone: the owner must keep sending pings.
    ///
    /// Takes effect at the end of the turn. Bytes read by then, at most one TLS record, are still delivered.
    package func setReading(paused: Bool) {
        reactor.preconditionOnThread()
        guard wsi != nil, paused != wantsPause else { return }
        wantsPause = paused
        reactor.touch(self)
    }

    /// Sends the queue, then a Close frame, then waits for the peer's Close frame (RFC 6455 §7.1.2). Only the first
    /// call has an effect.
    ///
    /// - Parameter reason: at most 123 bytes of UTF-8.
    package func close(code: UInt16, reason: String) {
        reactor.preconditionOnThread()
        guard wsi != nil, closing == nil else { return }
        closing = (code, reason)
        isDeaf = true
        reactor.touch(self)
    }

    /// Ends the connection without a Close frame.
    package func drop() {
        reactor.preconditionOnThread()
        owner.kill()
    }

    /// Ends the connection with a TCP reset. All queued data is lost on both sides. For clients that simulate a failing
    /// network.
    package func reset() {
        reactor.preconditionOnThread()
        guard let wsi else { return }
        sendReset(on: lws_get_socket_fd(wsi))
        owner.kill()
    }

    // MARK: From libwebsockets

    func opened() {
        handler?.webSocketOpened(self)
    }

    func callback(_ reason: lws_callback_reasons, _ input: UnsafeRawBufferPointer) -> Int32 {
        switch reason {
        case LWS_CALLBACK_CLIENT_RECEIVE:
            return received(input)
        case LWS_CALLBACK_CLIENT_RECEIVE_PONG:
            handler?.webSocketHeardPong()
            return 0
        case LWS_CALLBACK_CLIENT_WRITEABLE:
            return writeable()
        case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
            return peerClosed(input)
        default:
            return 0
        }
    }

    private func received(_ input: UnsafeRawBufferPointer) -> Int32 {
        guard let wsi, !isDeaf else { return 0 }
        let isFirst = !isInsideMessage
        let isLast = lws_is_final_fragment(wsi) != 0
        isInsideMessage = !isLast
        messageBytes = (isFirst ? 0 : messageBytes) + input.count
        // The announced rest of the frame counts too, so an oversized message is refused at its first piece. It may be
        // up to 2^63 - 1.
        guard messageBytes <= maximumMessageBytes,
            UInt64(lws_remaining_packet_payload(wsi)) <= UInt64(maximumMessageBytes - messageBytes)
        else {
            return fail(code: 1009, reason: "message too big")
        }
        let isText = lws_frame_is_binary(wsi) == 0
        guard !isText || isUTF8(input, isFirst: isFirst, isLast: isLast) else {
            return fail(code: 1007, reason: "text is not UTF-8")
        }
        handler?.webSocketReceived(
            MessagePiece(bytes: input, isText: isText, isFirst: isFirst, isLast: isLast))
        return 0
    }

    /// The peer broke the protocol. The queue is dropped so that the Close frame is sent next.
    private func fail(code: UInt16, reason: String) -> Int32 {
        output.release(to: reactor.buffers)
        close(code: code, reason: reason)
        return 0
    }

    private func isUTF8(_ input: UnsafeRawBufferPointer, isFirst: Bool, isLast: Bool) -> Bool {
        if isFirst { text = UTF8Validator() }
        return text.accept(input.assumingMemoryBound(to: UInt8.self).span) == input.count
            && (!isLast || text.isComplete)
    }

    private func peerClosed(_ input: UnsafeRawBufferPointer) -> Int32 {
        guard !isDeaf else { return crossed() }
        isDeaf = true
        let code = input.count >= 2 ? UInt16(input[0]) << 8 | UInt16(input[1]) : nil
        handler?.webSocketPeerClosed(code: code)
        guard let wsi else { return 0 }
        // The peer may not read the answer.
        lws_set_timeout(wsi, PENDING_TIMEOUT_CLOSE_SEND, Self.closeSeconds)
        guard let fault = faultOfClose(input) else { return 0 }
        // The answer states the fault instead of echoing the peer's code.
        lws_close_reason(wsi, fault, nil, 0)
        return -1
    }

    /// The peer's Close frame arrived while ours was waiting behind queued bytes. The queue is dropped, and our own
    /// code and reason are the answer. If our Close frame was already sent, libwebsockets completes the handshake.
    private func crossed() -> Int32 {
        guard let wsi, let closing, !hasBegunClose else { return 0 }
        hasBegunClose = true
        output.release(to: reactor.buffers)
        setCloseReason(of: wsi, closing)
        return -1
    }

    /// A Close frame's payload is empty, or a code followed by UTF-8 (RFC 6455 §5.5.1). libwebsockets has already
    /// replaced codes that may not be sent by 1002.
    private func faultOfClose(_ input: UnsafeRawBufferPointer) -> lws_close_status? {
        if input.count == 1 { return LWS_CLOSE_STATUS_PROTOCOL_ERR }
        guard input.count > 2 else { return nil }
        var reason = UTF8Validator()
        let bytes = UnsafeRawBufferPointer(rebasing: input[2...])
        let isUTF8 = reason.accept(bytes.assumingMemoryBound(to: UInt8.self).span) == bytes.count && reason.isComplete
        return isUTF8 ? nil : LWS_CLOSE_STATUS_INVALID_PAYLOAD
    }

    /// All writes happen outside libwebsockets' callbacks, at the end of the turn.
    private func writeable() -> Int32 {
        reactor.touch(self)
        return 0
    }

    /// The last event from libwebsockets for this WebSocket.
    func ended() {
        guard let handler else { return }
        self.handler = nil
        wsi = nil
        output.release(to: reactor.buffers)
        handler.webSocketClosed()
    }

    // MARK: Writing

    /// Writes until the socket is full or the queue is empty.
    ///
    /// It never writes to a socket that isn't writable, so libwebsockets never holds back part of a frame. If
    /// libwebsockets 4.1.6 closes a connection in that state (for a fault of the peer) while TLS has input waiting, it
    /// spins forever. If it holds back bytes nevertheless, the connection is dropped at once.
    func flush() {
        guard let wsi else { return }
        let isClosed = isClosedByLibwebsockets
        applyPause(to: wsi)
        guard self.wsi != nil, !isClosed, !isClosedByLibwebsockets else { return }
        let before = output.count
        writePing()
        guard self.wsi != nil else { return }
        while !output.isEmpty, lws_send_pipe_choked(wsi) == 0 {
            guard let written = writeFront(to: wsi) else { return owner.kill() }
            output.removeFirst(written, to: reactor.buffers)
            guard lws_partial_buffered(wsi) == 0 else { return owner.kill() }
        }
        if !output.isEmpty || wantsPing {
            lws_callback_on_writable(wsi)
        } else {
            beginClose()
        }
        if output.count < before {
            handler?.webSocketWrote()
        }
    }

    /// Never call it inside a callback: libwebsockets 4.1.6 then buffers the rest of its read, and spins forever if TLS
    /// still holds part of the record. After a Close frame reading is never paused, because the peer's Close frame must
    /// be received.
    private func applyPause(to wsi: OpaquePointer) {
        let pauses = wantsPause && !isDeaf
        guard pauses != isPaused else { return }
        isPaused = pauses
        lws_rx_flow_control(wsi, pauses ? 0 : 1)
        if !pauses {
            lws_cancel_service(lws_get_context(wsi))  // libwebsockets serves its buffered input from its next turn.
        }
    }

    /// - Returns: the number of queued bytes written; nil if the connection is broken.
    private func writeFront(to wsi: OpaquePointer) -> Int? {
        switch output.front() {
        case .empty: return 0
        case .stream(let bytes): return write(bytes, LWS_WRITE_BINARY.rawValue, to: wsi) ? bytes.count : nil
        case .frames(let frames): return writeMasked(frames, to: wsi)
        }
    }

    /// A client masks its frames (RFC 6455 §5.3). libwebsockets does this: it takes a payload and overwrites our header
    /// in front of it.
    private func writeMasked(_ frames: UnsafeMutableRawBufferPointer, to wsi: OpaquePointer) -> Int? {
        guard let count = FrameQueue.frameBytes(at: 0, of: UnsafeRawBufferPointer(frames)) else { return nil }
        let kind =
            switch Opcode(rawValue: frames[0] & 0xF) {
            case .text: LWS_WRITE_TEXT
            case .binary: LWS_WRITE_BINARY
            default: LWS_WRITE_CONTINUATION
            }
        let header = frames[1] == 126 ? 4 : 2
        let payload = UnsafeMutableRawBufferPointer(rebasing: frames[header..<count])
        let flags = frames[0] & 0x80 != 0 ? 0 : LWS_WRITE_NO_FIN.rawValue
        return write(payload, kind.rawValue | flags, to: wsi) ? count : nil
    }

    private func write(_ bytes: UnsafeMutableRawBufferPointer, _ kind: UInt32, to wsi: OpaquePointer) -> Bool {
        let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        return lws_write(wsi, start, bytes.count, lws_write_protocol(kind)) >= 0
    }

    /// libwebsockets closes by itself after a fault of the peer and reports nothing before the connection ends. No data
    /// may follow its Close frame (RFC 6455 §5.5.1), so the queue is dropped.
    private var isClosedByLibwebsockets: Bool {
        guard let wsi, !hasBegunClose, lws_get_close_length(wsi) > 0 else { return false }
        isDeaf = true
        output.release(to: reactor.buffers)
        return true
    }

    /// Starts the closing handshake once the queue is empty. libwebsockets sends the Close frame and waits for the
    /// peer's.
    ///
    /// It isn't started by returning -1 from the writeable callback: in Debian's build of 4.1.6 (with `_DEBUG`) the
    /// libuv path then closes a second time at once, and the frame is never sent.
    private func beginClose() {
        guard let wsi, let closing, !hasBegunClose else { return }
        hasBegunClose = true
        setCloseReason(of: wsi, closing)
        lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC)
    }

    private func setCloseReason(of wsi: OpaquePointer, _ closing: (code: UInt16, reason: String)) {
        var reason = Array(closing.reason.utf8.prefix(123))
        lws_close_reason(wsi, lws_close_status(UInt32(closing.code)), &reason, reason.count)
    }

    private func writePing() {
        guard wantsPing, let wsi, lws_send_pipe_choked(wsi) == 0 else { return }
        wantsPing = false
        guard closing == nil else { return }
        withUnsafeTemporaryAllocation(byteCount: PORTCULLIS_LWS_PRE + 1, alignment: 16) { buffer in
            let payload = buffer.baseAddress!.advanced(by: PORTCULLIS_LWS_PRE).assumingMemoryBound(to: UInt8.self)
            payload.pointee = 0  // libwebsockets doesn't report a pong without payload.
            if lws_write(wsi, payload, 1, LWS_WRITE_PING) < 0 { owner.kill() }
        }
    }
}
