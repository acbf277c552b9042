import Glibc
import WireText

/// A connection to a target, plain or over TLS, depending on its settings. Reactor thread only.
///
/// It has the methods of a `TCPConnection` and calls the same handler methods, so a session need not distinguish the two. `tcpConnected`
/// comes when data may flow, with TLS after the handshake; the bytes are always plaintext.
///
/// Bytes sent during a turn of the loop are collected and encrypted in whole records at its end. `setReading(paused: true)` stops
/// decryption too: input that has already arrived, at most one read, is kept.
///
/// With `prefer`, a target that shows no sign of TLS is dialled once more, plain, at the address that answered. Bytes that the client sent
/// meanwhile go over the new connection; none of them went over the failed one.
package final class TargetConnection: Flushable, TimerTarget {
    package let reactor: Reactor
    private let host: String
    /// The transport's dial, kept for a second attempt until the connection is open.
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
    /// There may be bytes left to decrypt. The transport isn't read until they are, so at most one read of it is kept.
    private var mayHaveUnread = false
    /// The transport is being dropped: its remaining events are ignored.
    private var isDeaf = false
    var isTouched = false

    /// The reason why `prefer` fell back to a plain connection.
    package private(set) var fallback: TargetTLSFailure?
    /// Such as `TLSv1.3`; nil without TLS or before its handshake is done.
    package private(set) var tlsVersion: String?
    /// The target's FIN came without close_notify, as from many telnet servers. Truncation can't be ruled out then.
    package private(set) var endedWithoutCloseNotify = false

    private init(host: String, tls: TargetTLS?, on reactor: Reactor, handler: any TCPHandler) {
        self.host = host
        self.tls = tls?.settings.mode == .plain ? nil : tls
        self.reactor = reactor
        self.handler = handler
    }

    // MARK: Opening

    /// - Parameters:
    ///   - host: a name or a numeric address. With TLS the certificate must be valid for it, and a name is sent as SNI.
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

    /// Happens at most once: from here on there is no TLS that could fail.
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

    /// Bytes that the kernel hasn't taken yet, encrypted or not.
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

    /// Writes the queue, then sends close_notify (with TLS) and FIN. Reading continues.
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

    /// Closes now; queued bytes are lost.
    package func drop() {
        reactor.preconditionOnThread()
        close(error: nil)
    }

    /// After a TLS failure: OpenSSL's alert to the target is still sent, if the socket takes it now.
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

    /// Gives the connection away, with all buffered bytes. The handler gets no more calls.
    ///
    /// - Returns: nil if it isn't open, `finish` was called, or no descriptor is left for the move; the connection then stays as it is.
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

    /// Continues the connection on `reactor`, which reads it from the next turn on. If the target had already ended its side, that is
    /// reported again. If TLS can't be continued, `handler` is called before this returns.
    package static func adopt(
        _ moving: MovingTarget, on reactor: Reactor, handler: any TCPHandler
    ) -> TargetConnection {
        let connection = TargetConnection(
            host: moving.host, tls: moving.session?.tls, on: reactor, handler: handler)
        connection.firstRecord = moving.firstRecord
        connection.tlsVersion = moving.tlsVersion
        connection.fallback = moving.fallback
        connection.adopt(moving)
        return connection
    }

    private func adopt(_ moving: MovingTarget) {
        stage = .open
        transport = .adopt(moving.socket, on: reactor, handler: self)
        guard let moved = moving.session else { return }
        moving.plaintext.withUnsafeBytes { plaintext.append($0, from: reactor.buffers) }
        do throws(TargetTLSFailure) {
            session = try TLSClientSession(adopting: moved, sink: self, buffers: reactor.buffers)
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

    /// Decrypts the input and delivers it block by block until it is used up or the handler pauses.
    private func deliver(from session: TLSClientSession) {
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

    /// Nothing more can be decrypted for now. While the handler pauses, the end of the stream isn't reported; it is found again afterwards.
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
