import Glibc

/// A connection to a target, plain or with TLS as its settings say. Reactor thread only.
///
/// It has the calls of a `TCPConnection` and tells its handler the same things: `tcpConnected` comes when bytes may flow, which with TLS is
/// after the handshake, and they are the plain text's. A session needn't know more.
///
/// What is sent during a turn of the loop is collected, and encrypted in whole records at its end. `setReading(paused: true)` stops
/// decrypting too: what had arrived by then is kept, one read at most.
///
/// With `prefer` a target that shows that it speaks no TLS is dialled once more, plain, at the address that answered. What the client
/// had sent meanwhile goes there; over the failed connection nothing of it went.
package final class TargetConnection: Flushable, TimerTarget {
    package let reactor: Reactor
    private let host: String
    /// Until it is open: the transport's, to dial once more.
    private var dial: Dial?
    private var tls: TargetTLS?
    private var handler: (any TCPHandler)?
    private var transport: TCPConnection?

    private enum Stage {
        case dialling
        case securing
        case open
        case closed
    }

    private var stage = Stage.dialling
    private var session: TLSClientSession?
    /// Sent, and not yet encrypted.
    @exclusivity(unchecked) private var plaintext = OutputBuffer()
    private(set) var firstRecord = FirstTLSRecord()
    private lazy var handshakeTimer = ReactorTimer(on: reactor)
    private var isPaused = false
    private var wantsFinish = false
    private var hasFinished = false
    private var peerHasFinished = false
    private var transportHasFinished = false
    /// Something may be left to decrypt. Until it has been, the transport isn't read, so no more than one read of it is ever kept.
    private var mayHaveUnread = false
    /// The transport is being given up: what it still says isn't heard.
    private var isDeaf = false
    var isTouched = false

    /// `prefer` ended plain, and why.
    package private(set) var fallback: TargetTLSFailure?
    /// `TLSv1.3`; nil while or where there is none.
    package private(set) var tlsVersion: String?
    /// The target's FIN came without close_notify, as many telnet servers' does: whether something was cut off before it can't be known.
    package private(set) var endedWithoutCloseNotify = false

    private init(host: String, tls: TargetTLS?, on reactor: Reactor, handler: any TCPHandler) {
        self.host = host
        self.tls = tls?.settings.mode == .plain ? nil : tls
        self.reactor = reactor
        self.handler = handler
    }

    // MARK: Opening

    /// - Parameters:
    ///   - host: a name or a numeric address; with TLS also what the certificate has to be for, and a name is sent as SNI.
    ///   - tls: nil for a plain connection.
    package static func dial(
        host: String, port: UInt16, options: DialOptions, tls: TargetTLS?, on reactor: Reactor,
        handler: any TCPHandler
    ) -> TargetConnection {
        let connection = TargetConnection(host: host, tls: tls, on: reactor, handler: handler)
        let transport = TCPConnection.dial(host: host, port: port, options: options, on: reactor, handler: connection)
        connection.transport = transport
        connection.dial = transport.dial
        return connection
    }

    private func beginTLS(_ tls: TargetTLS) {
        stage = .securing
        let milliseconds = tls.settings.handshakeTimeoutMilliseconds
        handshakeTimer.arm(at: reactor.now + UInt64(milliseconds) * 1_000_000, calling: self)
        do throws(TargetTLSFailure) {
            let session = try TLSClientSession(tls, host: host, sink: self, buffers: reactor.buffers)
            self.session = session
            updateReading()
            advanceHandshake(session)
        } catch {
            close(error: .notSecured(error))
        }
    }

    private func advanceHandshake(_ session: TLSClientSession) {
        switch session.handshake() {
        case .underWay: break
        case .done:
            tlsVersion = session.version
            handshakeTimer.cancel()
            open()
        case .failed(let failure): failHandshake(failure)
        }
    }

    private func open() {
        stage = .open
        dial = nil
        updateReading()
        reactor.touch(self)
        handler?.tcpConnected()
    }

    package func timerFired(now: UInt64) {
        failHandshake(.timedOut(hasSpokenTLS: firstRecord.hasBegun))
    }

    private func failHandshake(_ failure: TargetTLSFailure) {
        if tls?.settings.mode == .prefer, failure.showsNoTLS {
            fallBack(after: failure)
        } else {
            closeWithAlert(error: .notSecured(failure))
        }
    }

    /// Once at most: from here on there is no TLS that could fail.
    private func fallBack(after failure: TargetTLSFailure) {
        guard let dial, let address = dial.address else { return close(error: .notSecured(failure)) }
        fallback = failure
        tls = nil
        session = nil
        handshakeTimer.cancel()
        isDeaf = true
        transport?.drop()
        isDeaf = false
        stage = .dialling
        let plain = TCPConnection.dial([address], options: dial.options, on: reactor, handler: self)
        guard stage != .closed else { return }
        transport = plain
        plain.send(UnsafeRawBufferPointer(plaintext.front(limit: plaintext.count)))
        plaintext.release(to: reactor.buffers)
        if wantsFinish { plain.finish() }
    }

    // MARK: For the handler

    /// What waits to be taken by the kernel, encrypted or not.
    package var queuedBytes: Int { plaintext.count + (transport?.queuedBytes ?? 0) }

    package func send(_ bytes: UnsafeRawBufferPointer) {
        guard tls != nil else {
            transport?.send(bytes)
            return
        }
        reactor.preconditionOnThread()
        guard stage != .closed, !wantsFinish else { return }
        plaintext.append(bytes, from: reactor.buffers)
        touchIfOpen()
    }

    package func setReading(paused: Bool) {
        reactor.preconditionOnThread()
        isPaused = paused
        updateReading()
        if !paused, mayHaveUnread { touchIfOpen() }
    }

    private func updateReading() {
        transport?.setReading(paused: stage != .securing && (isPaused || mayHaveUnread))
    }

    /// Writes what is queued, then sends close_notify, where there is TLS, and FIN. Reading goes on.
    package func finish() {
        guard tls != nil else {
            wantsFinish = true
            transport?.finish()
            return
        }
        reactor.preconditionOnThread()
        guard stage != .closed, !wantsFinish else { return }
        wantsFinish = true
        touchIfOpen()
    }

    /// Closes now; what is queued is lost.
    package func drop() {
        reactor.preconditionOnThread()
        close(error: nil)
    }

    /// After a failure of TLS: what OpenSSL has said of it to the target still goes out, if the socket takes it now.
    private func closeWithAlert(error: TCPError) {
        isDeaf = true
        transport?.flush()
        close(error: error)
    }

    private func close(error: TCPError?) {
        guard stage != .closed else { return }
        stage = .closed
        handshakeTimer.cancel()
        dial = nil
        plaintext.release(to: reactor.buffers)
        session = nil
        let handler = handler
        self.handler = nil
        transport?.drop()
        transport = nil
        handler?.tcpClosed(error: error)
    }

    // MARK: To another reactor

    /// Gives the connection away, with all that waits in it. The handler hears nothing more.
    ///
    /// - Returns: nil where it isn't open, has been told to finish, or can't be moved for want of a descriptor; then it stays as it is.
    package func leave() -> MovingTarget? {
        reactor.preconditionOnThread()
        guard stage == .open, !wantsFinish, let socket = transport?.leave() else { return nil }
        let moving = MovingTarget(
            host: host, socket: socket, session: session?.leave(),
            plaintext: Array(plaintext.front(limit: plaintext.count)), firstRecord: firstRecord, tlsVersion: tlsVersion,
            fallback: fallback)
        handler = nil
        transport = nil
        close(error: nil)
        return moving
    }

    /// What arrives on `reactor` is read there from the next turn on. An end that the target had sent before is told again. Where TLS
    /// can't be taken up `handler` hears so before this returns.
    package static func arrive(
        _ moving: MovingTarget, on reactor: Reactor, handler: any TCPHandler
    ) -> TargetConnection {
        let connection = TargetConnection(
            host: moving.host, tls: moving.session?.tls, on: reactor, handler: handler)
        connection.firstRecord = moving.firstRecord
        connection.tlsVersion = moving.tlsVersion
        connection.fallback = moving.fallback
        connection.arrived(moving)
        return connection
    }

    private func arrived(_ moving: MovingTarget) {
        stage = .open
        transport = .arrive(moving.socket, on: reactor, handler: self)
        guard let moved = moving.session else { return }
        moving.plaintext.withUnsafeBytes { plaintext.append($0, from: reactor.buffers) }
        do throws(TargetTLSFailure) {
            session = try TLSClientSession(arriving: moved, sink: self, buffers: reactor.buffers)
            mayHaveUnread = true
            updateReading()
            touchIfOpen()
        } catch {
            close(error: .notSecured(error))
        }
    }

    // MARK: Once a turn

    private func touchIfOpen() {
        if stage == .open, session != nil { reactor.touch(self) }
    }

    func flush() {
        guard stage == .open, let session else { return }
        if mayHaveUnread { deliver(from: session) }
        guard stage == .open else { return }
        encrypt(with: session)
    }

    private func encrypt(with session: TLSClientSession) {
        while !plaintext.isEmpty {
            let (count, outcome) = session.write(UnsafeRawBufferPointer(plaintext.front(limit: plaintext.count)))
            plaintext.removeFirst(count, to: reactor.buffers)
            switch outcome {
            case .full: break
            case .needsInput: return  // Tried again after the next record.
            case .finished: return closeWithAlert(error: .broken("TLS: the session has ended"))
            case .failed(let text): return closeWithAlert(error: .broken("TLS: \(text)"))
            }
        }
        if wantsFinish, !hasFinished {
            hasFinished = true
            session.finish()
            transport?.finish()
        }
    }

    /// Decrypts what has arrived and hands it over, a block at a time, until there is no more or the handler pauses.
    private func deliver(from session: TLSClientSession) {
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

    /// Nothing more can be decrypted for now. The end of the stream isn't told while the handler pauses, but met again afterwards.
    private func settle(_ outcome: TLSClientSession.Outcome) {
        if case .failed(let text) = outcome { return closeWithAlert(error: .broken("TLS: \(text)")) }
        let isEnd = outcome == .finished || transportHasFinished
        guard isEnd else { return mayHaveUnread = false }
        guard !isPaused else { return }
        mayHaveUnread = false
        peerHasFinished = true
        endedWithoutCloseNotify = outcome != .finished
        handler?.tcpPeerFinished()
    }
}

// MARK: From the transport

extension TargetConnection: TCPHandler {
    package func tcpConnected() {
        guard stage == .dialling else { return }
        if let tls { beginTLS(tls) } else { open() }
    }

    package func tcpReceived(_ bytes: UnsafeRawBufferPointer) {
        guard tls != nil else {
            handler?.tcpReceived(bytes)
            return
        }
        guard let session, !peerHasFinished else { return }  // Nothing after close_notify counts (RFC 8446 §6.1).
        guard firstRecord.accepts(bytes) else { return failHandshake(.notTLS) }
        session.take(bytes) {
            if stage == .securing { advanceHandshake(session) }
            if stage == .open { deliver(from: session) }
        }
        if !plaintext.isEmpty { touchIfOpen() }
    }

    package func tcpPeerFinished() {
        guard tls != nil else {
            handler?.tcpPeerFinished()
            return
        }
        transportHasFinished = true
        switch stage {
        case .securing: failHandshake(.closed(hasSpokenTLS: firstRecord.hasBegun))
        case .open: if let session, !peerHasFinished { deliver(from: session) }
        case .dialling, .closed: break
        }
    }

    package func tcpWrote() {
        if stage == .open { handler?.tcpWrote() }
    }

    package func tcpClosed(error: TCPError?) {
        guard !isDeaf else { return }
        if stage == .securing, error != nil {
            failHandshake(.closed(hasSpokenTLS: firstRecord.hasBegun))
        } else {
            close(error: error)
        }
    }
}

extension TargetConnection: TLSRecordSink {
    func tlsWrites(_ records: UnsafeRawBufferPointer) {
        transport?.send(records)
    }
}
