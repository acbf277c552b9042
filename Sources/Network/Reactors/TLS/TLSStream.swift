/// TLS over a TCP connection: what a target's connection (`TargetConnection`) and the internal listener's
/// (`SecuredConnection`) have in common. Subclasses open it and judge its handshake. Reactor thread only.
///
/// It has the methods of a `TCPConnection` and calls the same handler methods: `tcpConnected` comes after the
/// handshake, and the bytes are always plaintext.
///
/// Bytes sent during a turn of the loop are collected and encrypted in whole records at its end.
/// `setReading(paused: true)` stops decryption too: input that has already arrived, at most one read, is kept.
package class TLSStream: Flushable {
    enum Stage {
        case dialling
        case securing
        case open
        case closed
    }

    package final let reactor: Reactor
    final var handler: (any TCPHandler)?
    final var transport: TCPConnection?
    /// Nil before the handshake begins, and for a target without TLS.
    final var session: TLSEngine?
    final var stage: Stage
    /// Sent, and not yet encrypted.
    @exclusivity(unchecked) final var plaintext = OutputBuffer()
    /// The transport is being dropped: its remaining events are ignored.
    final var isDeaf = false
    final private var isPaused = false
    final var wantsFinish = false
    final private var hasFinished = false
    final private(set) var peerHasFinished = false
    final private var transportHasFinished = false
    /// There may be bytes left to decrypt. The transport isn't read until they are, so at most one read of it is kept.
    final private var mayHaveUnread = false
    /// The peer's FIN came without close_notify, as from many telnet servers. Truncation can't be ruled out then.
    package final private(set) var endedWithoutCloseNotify = false
    final var isTouched = false

    init(on reactor: Reactor, stage: Stage, handler: any TCPHandler) {
        self.reactor = reactor
        self.stage = stage
        self.handler = handler
    }

    // MARK: For subclasses

    /// Goes on with the handshake: calls `open`, or fails.
    func advanceHandshake() { preconditionFailure("each subclass has its own handshake") }

    /// The peer ended its side during the handshake.
    func peerFinishedHandshake() { fail("the peer closed the connection") }

    /// Called once, before the handler hears of the end.
    func willClose() {}

    final func open() {
        stage = .open
        updateReading()
        reactor.touch(self)
        handler?.tcpConnected()
    }

    /// Input was received before the connection came here.
    final func mayHaveInput() {
        mayHaveUnread = true
        updateReading()
        touchIfOpen()
    }

    final func updateReading() {
        transport?.setReading(paused: stage != .securing && (isPaused || mayHaveUnread))
    }

    final func fail(_ text: String) { closeWithAlert(error: .broken("TLS: \(text)")) }

    /// After a TLS failure: OpenSSL's alert to the peer is still sent, if the socket takes it now.
    final func closeWithAlert(error: TCPError) {
        guard stage != .closed else { return }
        isDeaf = true
        transport?.flush()
        close(error: error)
    }

    final func close(error: TCPError?) {
        guard stage != .closed else { return }
        stage = .closed
        willClose()
        plaintext.release(to: reactor.buffers)
        session = nil
        let handler = handler
        self.handler = nil
        transport?.drop()
        transport = nil
        handler?.tcpClosed(error: error)
    }

    // MARK: For the handler

    /// Bytes that the kernel hasn't taken yet, encrypted or not.
    package final var queuedBytes: Int { plaintext.count + (transport?.queuedBytes ?? 0) }

    package func send(_ bytes: UnsafeRawBufferPointer) {
        reactor.preconditionOnThread()
        guard stage != .closed, !wantsFinish else { return }
        plaintext.append(bytes, from: reactor.buffers)
        touchIfOpen()
    }

    package final func setReading(paused: Bool) {
        reactor.preconditionOnThread()
        isPaused = paused
        updateReading()
        if !paused, mayHaveUnread { touchIfOpen() }
    }

    /// Writes the queue, then sends close_notify and FIN. Reading continues.
    package func finish() {
        reactor.preconditionOnThread()
        guard stage != .closed, !wantsFinish else { return }
        wantsFinish = true
        touchIfOpen()
    }

    /// Closes now; queued bytes are lost.
    package final func drop() {
        reactor.preconditionOnThread()
        close(error: nil)
    }

    // MARK: Once a turn

    private final func touchIfOpen() {
        if stage == .open, session != nil { reactor.touch(self) }
    }

    final func flush() {
        guard stage == .open, let session else { return }
        if mayHaveUnread { deliver(from: session) }
        guard stage == .open else { return }
        encrypt(with: session)
    }

    private final func encrypt(with session: TLSEngine) {
        while !plaintext.isEmpty {
            let (count, outcome) = session.write(UnsafeRawBufferPointer(plaintext.front(limit: plaintext.count)))
            plaintext.removeFirst(count, to: reactor.buffers)
            switch outcome {
            case .full: break
            case .needsInput: return  // Tried again after the next record.
            case .finished: return fail("the session has ended")
            case .failed(let text): return fail(text)
            }
        }
        guard wantsFinish, !hasFinished else { return }
        hasFinished = true
        session.finish()
        transport?.finish()
    }

    /// Decrypts the input and delivers it block by block until it is used up or the handler pauses.
    private final func deliver(from session: TLSEngine) {
        let block = reactor.buffers.take(Reactor.readBufferBytes)
        defer { reactor.buffers.give(block) }
        mayHaveUnread = true
        let before = session.recordCount
        while stage == .open, !isPaused, mayHaveUnread {
            let (count, outcome) = session.read(into: block)
            if count > 0 { handler?.tcpReceived(UnsafeRawBufferPointer(rebasing: block[..<count])) }
            if stage == .open, outcome != .full { settle(outcome) }
        }
        guard stage == .open else { return }
        handler?.tcpDecrypted(records: session.recordCount - before)
        updateReading()
    }

    /// Nothing more can be decrypted for now. While the handler pauses, the end of the stream isn't reported; it is
    /// found again afterwards.
    private final func settle(_ outcome: TLSEngine.Outcome) {
        if case .failed(let text) = outcome { return fail(text) }
        guard outcome == .finished || transportHasFinished else { return mayHaveUnread = false }
        guard !isPaused else { return }
        mayHaveUnread = false
        peerHasFinished = true
        endedWithoutCloseNotify = outcome != .finished
        handler?.tcpPeerFinished()
    }

    // MARK: From the transport

    package func tcpConnected() {}

    package func tcpReceived(_ bytes: UnsafeRawBufferPointer) {
        guard let session, !peerHasFinished else { return }  // Nothing after close_notify counts (RFC 8446 §6.1).
        session.take(bytes) {
            if stage == .securing { advanceHandshake() }
            if stage == .open { deliver(from: session) }
        }
        if !plaintext.isEmpty { touchIfOpen() }
    }

    package func tcpPeerFinished() {
        transportHasFinished = true
        switch stage {
        case .securing: peerFinishedHandshake()
        case .open: if let session, !peerHasFinished { deliver(from: session) }
        case .dialling, .closed: break
        }
    }

    package final func tcpWrote() {
        if stage == .open { handler?.tcpWrote() }
    }

    package func tcpClosed(error: TCPError?) {
        if !isDeaf { close(error: error) }
    }
}

extension TLSStream: TCPHandler {}

extension TLSStream: TLSRecordSink {
    final func tlsWrites(_ records: UnsafeRawBufferPointer) { transport?.send(records) }
}
