import CLibwebsockets

/// What a WebSocket tells its owner, on the reactor's thread. `closed` is the last call, and comes exactly once.
package protocol WebSocketHandler: AnyObject {
    func webSocketOpened(_ webSocket: WebSocketConnection)
    /// A piece of a text or binary message's payload; the pieces of a message come in order, and none after a Close.
    /// The bytes are gone when this returns.
    func webSocketReceived(_ piece: MessagePiece)
    /// The client sent a Close frame (RFC 6455 §5.5.1); its answer is on the way. `code` is nil where it named none.
    func webSocketPeerClosed(code: UInt16?)
    /// Something was heard from the client that carries no payload.
    func webSocketHeardPong()
    /// All or some of what waited has been handed to the socket; `queuedBytes` tells what still waits.
    func webSocketWrote()
    func webSocketClosed()
}

/// A piece of a message's payload.
package struct MessagePiece {
    package let bytes: UnsafeRawBufferPointer
    package let isText: Bool
    package let isFirst: Bool
    package let isLast: Bool
}

/// One established WebSocket. Reactor thread only.
///
/// Output is collected and written at the end of the turn, as binary messages of at most `maximumFrameBytes`. The owner
/// bounds it by `queuedBytes`.
package final class WebSocketConnection: Flushable {
    package static let maximumFrameBytes = 16_384

    /// Who is at the other end; nil where we are the client.
    package let peer: PeerAddress?
    package let reactor: Reactor
    private unowned let owner: LWSOwner
    private var wsi: OpaquePointer?
    private var handler: (any WebSocketHandler)?
    private let maximumMessageBytes: Int
    /// How long an answer to the client's Close may wait for the client to read: as long as libwebsockets gives our own.
    private static let closeSeconds: Int32 = 5

    private var output = OutputBuffer()
    private var wantsPing = false
    private var closing: (code: UInt16, reason: String)?
    private var hasBegunClose = false
    private var messageBytes = 0
    private var text = UTF8Validator()
    /// After a Close in either direction nothing more is delivered (RFC 6455 §5.5.1).
    private var isDeaf = false
    private var isPaused = false
    var isTouched = false

    init(
        owner: LWSOwner, wsi: OpaquePointer, handler: any WebSocketHandler, peer: PeerAddress?, maximumMessageBytes: Int
    ) {
        self.owner = owner
        self.wsi = wsi
        self.handler = handler
        self.peer = peer
        self.maximumMessageBytes = maximumMessageBytes
        reactor = owner.reactor
    }

    // MARK: For the handler

    /// Bytes that wait here; what libwebsockets holds of the last frame is not counted, it is at most one frame.
    package var queuedBytes: Int { output.count }

    package func send(_ bytes: UnsafeRawBufferPointer) {
        reactor.preconditionOnThread()
        guard wsi != nil, closing == nil else { return }
        output.append(bytes, from: reactor.buffers)
        reactor.touch(self)
    }

    package func ping() {
        reactor.preconditionOnThread()
        wantsPing = true
        reactor.touch(self)
    }

    /// Stops and starts the reading of the socket: TCP then slows the client down. While it isn't read nobody polls it either, so
    /// only writing tells that the client is gone: the owner's pings have to go on.
    package func setReading(paused: Bool) {
        reactor.preconditionOnThread()
        guard let wsi, paused != isPaused else { return }
        isPaused = paused
        lws_rx_flow_control(wsi, paused ? 0 : 1)
        if !paused {
            lws_cancel_service(lws_get_context(wsi))  // What libwebsockets holds back is served from its next turn.
        }
    }

    /// Sends what is queued, then a Close frame, then waits for the client's (RFC 6455 §7.1.2). The first call counts.
    ///
    /// - Parameter reason: at most 123 bytes of UTF-8.
    package func close(code: UInt16, reason: String) {
        reactor.preconditionOnThread()
        guard wsi != nil, closing == nil else { return }
        closing = (code, reason)
        isDeaf = true
        setReading(paused: false)
        reactor.touch(self)
    }

    /// Ends the connection without a Close frame.
    package func drop() {
        reactor.preconditionOnThread()
        owner.kill()
    }

    // MARK: From libwebsockets

    func opened() {
        handler?.webSocketOpened(self)
    }

    func callback(_ reason: lws_callback_reasons, _ input: UnsafeRawBufferPointer) -> Int32 {
        switch reason {
        case LWS_CALLBACK_RECEIVE, LWS_CALLBACK_CLIENT_RECEIVE:
            return received(input)
        case LWS_CALLBACK_RECEIVE_PONG, LWS_CALLBACK_CLIENT_RECEIVE_PONG:
            handler?.webSocketHeardPong()
            return 0
        case LWS_CALLBACK_SERVER_WRITEABLE, LWS_CALLBACK_CLIENT_WRITEABLE:
            return writeable()
        case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
            return peerClosed(input)
        default:
            return 0
        }
    }

    private func received(_ input: UnsafeRawBufferPointer) -> Int32 {
        guard let wsi, !isDeaf else { return 0 }
        let isFirst = lws_is_first_fragment(wsi) != 0
        let isLast = lws_is_final_fragment(wsi) != 0
        messageBytes = (isFirst ? 0 : messageBytes) + input.count
        // What the frame has announced counts too: an oversized message is refused at its first piece. It may be up to 2^63 - 1.
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

    /// Who breaks the protocol isn't waited for: what is queued is let go, so that the Close frame is next.
    private func fail(code: UInt16, reason: String) -> Int32 {
        output.release(to: reactor.buffers)
        close(code: code, reason: reason)
        return 0
    }

    private func isUTF8(_ input: UnsafeRawBufferPointer, isFirst: Bool, isLast: Bool) -> Bool {
        if isFirst { text = UTF8Validator() }
        return text.accepts(input) && (!isLast || text.isComplete)
    }

    private func peerClosed(_ input: UnsafeRawBufferPointer) -> Int32 {
        guard !isDeaf else { return crossed() }
        isDeaf = true
        let code = input.count >= 2 ? UInt16(input[0]) << 8 | UInt16(input[1]) : nil
        handler?.webSocketPeerClosed(code: code)
        guard let wsi else { return 0 }
        // For one that doesn't read the answer.
        lws_set_timeout(wsi, PENDING_TIMEOUT_CLOSE_SEND, Self.closeSeconds)
        guard let fault = faultOfClose(input) else { return 0 }
        // Answered with what is wrong, not with its echo.
        lws_close_reason(wsi, fault, nil, 0)
        return -1
    }

    /// The client's Close came while ours was waiting behind queued bytes: it is answered with what ours was to say. Where ours is
    /// on its way already libwebsockets does the rest.
    private func crossed() -> Int32 {
        guard let wsi, let closing, !hasBegunClose else { return 0 }
        hasBegunClose = true
        setCloseReason(of: wsi, closing)
        return -1
    }

    /// A Close frame's payload is nothing, or a code and UTF-8 (RFC 6455 §5.5.1). Codes that may not be sent libwebsockets has
    /// made 1002 of.
    private func faultOfClose(_ input: UnsafeRawBufferPointer) -> lws_close_status? {
        if input.count == 1 { return LWS_CLOSE_STATUS_PROTOCOL_ERR }
        guard input.count > 2 else { return nil }
        var reason = UTF8Validator()
        let isUTF8 = reason.accepts(UnsafeRawBufferPointer(rebasing: input[2...])) && reason.isComplete
        return isUTF8 ? nil : LWS_CLOSE_STATUS_INVALID_PAYLOAD
    }

    /// Everything is written outside libwebsockets' callbacks, at the end of the turn.
    private func writeable() -> Int32 {
        reactor.touch(self)
        return 0
    }

    /// The last word from libwebsockets about this WebSocket.
    func ended() {
        guard let handler else { return }
        self.handler = nil
        wsi = nil
        output.release(to: reactor.buffers)
        handler.webSocketClosed()
    }

    // MARK: Writing

    /// Writes until the socket is full or nothing is left.
    ///
    /// Never to a socket that isn't writable: then libwebsockets never has to hold a part of a frame back. That must not happen,
    /// because a connection that it closes in that state (for any fault of the client's) makes 4.1.6 spin for ever when TLS has
    /// input waiting. Should it happen all the same, the connection is dropped at once.
    func flush() {
        guard let wsi, !isClosedByLibwebsockets else { return }
        let before = output.count
        writePing()
        guard self.wsi != nil else { return }
        while !output.isEmpty, lws_send_pipe_choked(wsi) == 0 {
            let chunk = output.front(limit: Self.maximumFrameBytes)
            let start = chunk.baseAddress!.assumingMemoryBound(to: UInt8.self)
            guard lws_write(wsi, start, chunk.count, LWS_WRITE_BINARY) >= 0 else { return owner.kill() }
            output.removeFirst(chunk.count, to: reactor.buffers)
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

    /// For a fault of the client's libwebsockets closes by itself and says nothing before the connection ends. Behind its Close frame
    /// nothing may follow (RFC 6455 §5.5.1), so what waits here is let go.
    private var isClosedByLibwebsockets: Bool {
        guard let wsi, !hasBegunClose, lws_get_close_length(wsi) > 0 else { return false }
        isDeaf = true
        output.release(to: reactor.buffers)
        return true
    }

    /// Starts the closing handshake when nothing waits before it: libwebsockets sends the Close frame, and waits for the client's.
    ///
    /// Not by returning -1 from the writeable callback: as Debian builds 4.1.6 (with `_DEBUG`), its libuv path closes a second time
    /// at once, and the frame is never sent.
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
            payload.pointee = 0  // Of a pong without payload libwebsockets says nothing.
            if lws_write(wsi, payload, 1, LWS_WRITE_PING) < 0 { owner.kill() }
        }
    }
}
