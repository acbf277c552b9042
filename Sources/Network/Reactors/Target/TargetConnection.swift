/// A connection to a target, plain or over TLS, depending on its settings. Reactor thread only.
///
/// A session need not distinguish the two: `tcpConnected` comes when data may flow, with TLS after the handshake; the
/// bytes are always plaintext.
///
/// With `prefer`, a target that shows no sign of TLS is dialled once more, plain, at the address that answered. Bytes
/// that the client sent meanwhile go over the new connection; none of them went over the failed one.
package final class TargetConnection: TLSStream, TimerTarget {
    private let host: String
    /// The transport's dial, kept for a second attempt until the connection is open.
    private var dial: Dial?
    private var tls: TargetTLS?
    private(set) var firstRecord = FirstTLSRecord()
    private lazy var handshakeTimer = ReactorTimer(on: reactor)

    /// The reason why `prefer` fell back to a plain connection.
    package private(set) var fallback: TargetTLSFailure?
    /// Such as `TLSv1.3`; nil without TLS or before its handshake is done.
    package private(set) var tlsVersion: String?

    private init(host: String, tls: TargetTLS?, on reactor: Reactor, handler: any TCPHandler) {
        self.host = host
        self.tls = tls?.settings.mode == .plain ? nil : tls
        super.init(on: reactor, stage: .dialling, handler: handler)
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
            let session = try TLSClientEngine(tls, host: host, sink: self, buffers: reactor.buffers)
            self.session = session
            updateReading()
            advanceHandshake()
        } catch {
            close(error: .notSecured(error))
        }
    }

    private var client: TLSClientEngine? { session as? TLSClientEngine }

    override func advanceHandshake() {
        guard let client else { return }
        switch client.handshake() {
        case .underWay: break
        case .done:
            tlsVersion = client.version
            handshakeTimer.cancel()
            dial = nil
            open()
        case .failed(let failure): failHandshake(failure)
        }
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

    override func peerFinishedHandshake() { failHandshake(.closed(hasSpokenTLS: firstRecord.hasBegun)) }

    override func willClose() {
        handshakeTimer.cancel()
        dial = nil
    }

    // MARK: For the handler

    package override func send(_ bytes: UnsafeRawBufferPointer) {
        if tls == nil { transport?.send(bytes) } else { super.send(bytes) }
    }

    /// Writes the queue, then sends close_notify (with TLS) and FIN. Reading continues.
    package override func finish() {
        guard tls == nil else { return super.finish() }
        wantsFinish = true
        transport?.finish()
    }

    // MARK: To another reactor

    /// Gives the connection away, with all buffered bytes. The handler gets no more calls.
    ///
    /// - Returns: nil if it isn't open, `finish` was called, or no descriptor is left for the move; the connection then
    ///   stays as it is.
    package func leave() -> MovingTarget? {
        reactor.preconditionOnThread()
        guard stage == .open, !wantsFinish, let socket = transport?.leave() else { return nil }
        let moving = MovingTarget(
            host: host, socket: socket, session: client?.leave(),
            plaintext: Array(plaintext.front(limit: plaintext.count)), firstRecord: firstRecord, tlsVersion: tlsVersion,
            fallback: fallback)
        handler = nil
        transport = nil
        close(error: nil)
        return moving
    }

    /// Continues the connection on `reactor`, which reads it from the next turn on. If the target had already ended its
    /// side, that is reported again. If TLS can't be continued, `handler` is called before this returns.
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
            session = try TLSClientEngine(adopting: moved, sink: self, buffers: reactor.buffers)
            mayHaveInput()
        } catch {
            close(error: .notSecured(error))
        }
    }

    // MARK: From the transport

    package override func tcpConnected() {
        guard stage == .dialling else { return }
        guard let tls else {
            dial = nil
            return open()
        }
        beginTLS(tls)
    }

    package override func tcpReceived(_ bytes: UnsafeRawBufferPointer) {
        guard tls != nil else {
            handler?.tcpReceived(bytes)
            return
        }
        guard session != nil, !peerHasFinished else { return }
        guard firstRecord.accepts(bytes) else { return failHandshake(.notTLS) }
        super.tcpReceived(bytes)
    }

    package override func tcpPeerFinished() {
        if tls == nil { handler?.tcpPeerFinished() } else { super.tcpPeerFinished() }
    }

    package override func tcpClosed(error: TCPError?) {
        guard !isDeaf, stage == .securing, error != nil else { return super.tcpClosed(error: error) }
        failHandshake(.closed(hasSpokenTLS: firstRecord.hasBegun))
    }
}
