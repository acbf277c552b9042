import WireText

/// A connection to the internal listener over TLS. Reactor thread only.
///
/// It has the methods of a `TCPConnection` and calls the same handler methods: `tcpConnected` after the handshake, and then the plaintext. The
/// handler limits the time of the handshake. Bytes sent during a turn of the loop are encrypted at its end. `setReading(paused: true)` stops
/// decryption too: input that has already arrived, at most one read, is kept.
final class SecuredConnection: Flushable, InternalTransport {
    private enum Stage {
        case securing, open, closed
    }

    private let reactor: Reactor
    private var handler: (any TCPHandler)?
    private var transport: TCPConnection?
    private var session: TLSServerSession?
    private var stage = Stage.securing
    /// Sent, and not yet encrypted.
    private var plaintext = OutputBuffer()
    private var isPaused = false
    private var wantsFinish = false
    private var hasFinished = false
    private var peerHasFinished = false
    private var transportHasFinished = false
    /// There may be bytes left to decrypt. The transport isn't read until they are.
    private var mayHaveUnread = false
    private var verification: Verification?
    var isTouched = false

    /// The last result for the peer's certificate.
    private struct Verification {
        let isGood: Bool
        let material: TLSMaterial
        /// Monotonic nanoseconds.
        let until: UInt64
    }

    /// Takes ownership of the socket. Without memory for TLS, `handler` hears of the end before this returns.
    init(_ socket: Int32, _ tls: InternalTLS, on reactor: Reactor, handler: any TCPHandler) {
        self.reactor = reactor
        self.handler = handler
        transport = TCPConnection.adopt(socket, on: reactor, handler: self)
        session = TLSServerSession(tls, sink: self, buffers: reactor.buffers)
        if session == nil { close(error: .broken("no memory for TLS")) }
    }

    // MARK: For the handler

    var queuedBytes: Int { plaintext.count + (transport?.queuedBytes ?? 0) }

    /// Certificates and lists end, and reloads replace them, while a connection is open; so the peer's certificate is verified again when that
    /// may have happened.
    var isCertified: Bool {
        guard let session, stage == .open else { return false }
        if let verification, verification.material === session.material, reactor.now < verification.until {
            return verification.isGood
        }
        let new = Verification(
            isGood: session.certificate?.isVerified == true, material: session.material,
            until: reactor.now + UInt64(TLSMaterial.verificationSeconds) * 1_000_000_000)
        verification = new
        return new.isGood
    }

    func send(_ bytes: UnsafeRawBufferPointer) {
        guard stage != .closed, !wantsFinish else { return }
        plaintext.append(bytes, from: reactor.buffers)
        reactor.touch(self)
    }

    func setReading(paused: Bool) {
        isPaused = paused
        updateReading()
        if !paused, mayHaveUnread { reactor.touch(self) }
    }

    private func updateReading() {
        transport?.setReading(paused: stage == .open && (isPaused || mayHaveUnread))
    }

    func finish() {
        guard stage != .closed, !wantsFinish else { return }
        wantsFinish = true
        reactor.touch(self)
    }

    func drop() { close(error: nil) }

    private func close(error: TCPError?) {
        guard stage != .closed else { return }
        stage = .closed
        plaintext.release(to: reactor.buffers)
        session = nil
        let handler = handler
        self.handler = nil
        transport?.drop()
        transport = nil
        handler?.tcpClosed(error: error)
    }

    /// An alert of OpenSSL's is still sent, if the socket takes it now.
    private func fail(_ text: String) {
        guard stage != .closed else { return }
        transport?.flush()
        close(error: .broken("TLS: \(text)"))
    }

    // MARK: The handshake

    private func advanceHandshake(_ session: TLSServerSession) {
        switch session.handshake() {
        case .underWay: break
        case .done:
            stage = .open
            handler?.tcpConnected()
        case .failed(let text): fail(text)
        }
    }

    // MARK: Once a turn

    func flush() {
        guard stage == .open, let session else { return }
        if mayHaveUnread { deliver(from: session) }
        guard stage == .open else { return }
        encrypt(with: session)
    }

    private func encrypt(with session: TLSServerSession) {
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
    private func deliver(from session: TLSServerSession) {
        let block = reactor.buffers.take(Reactor.readBufferBytes)
        defer { reactor.buffers.give(block) }
        mayHaveUnread = true
        while stage == .open, !isPaused, mayHaveUnread {
            let (count, outcome) = session.read(into: block)
            if count > 0 { handler?.tcpReceived(UnsafeRawBufferPointer(rebasing: block[..<count])) }
            if stage == .open, outcome != .full { settle(outcome) }
        }
        if stage == .open { updateReading() }
    }

    /// Nothing more can be decrypted for now. While the handler pauses, the end of the stream isn't reported; it is found again afterwards.
    private func settle(_ outcome: TLSSession.Outcome) {
        if case .failed(let text) = outcome { return fail(text) }
        guard outcome == .finished || transportHasFinished else { return mayHaveUnread = false }
        guard !isPaused else { return }
        mayHaveUnread = false
        peerHasFinished = true
        handler?.tcpPeerFinished()
    }
}

// MARK: From the transport

extension SecuredConnection: TCPHandler {
    /// Accepted sockets are connected.
    func tcpConnected() {}

    func tcpReceived(_ bytes: UnsafeRawBufferPointer) {
        // Nothing after close_notify counts (RFC 8446 §6.1).
        guard let session, !peerHasFinished else { return }
        session.take(bytes) {
            if stage == .securing { advanceHandshake(session) }
            if stage == .open { deliver(from: session) }
        }
        if !plaintext.isEmpty { reactor.touch(self) }
    }

    func tcpPeerFinished() {
        transportHasFinished = true
        switch stage {
        case .securing: fail("the peer closed the connection")
        case .open: if let session, !peerHasFinished { deliver(from: session) }
        case .closed: break
        }
    }

    func tcpWrote() {
        if stage == .open { handler?.tcpWrote() }
    }

    func tcpClosed(error: TCPError?) { close(error: error) }
}

extension SecuredConnection: TLSRecordSink {
    func tlsWrites(_ records: UnsafeRawBufferPointer) { transport?.send(records) }
}
