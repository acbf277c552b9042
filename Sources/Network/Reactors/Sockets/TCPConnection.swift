import CLibuv
import Glibc
import WireText

/// The events of a TCP connection, on the reactor's thread. `tcpClosed` is the last call and comes exactly once.
package protocol TCPHandler: AnyObject {
    func tcpConnected()
    /// The bytes are valid only during the call.
    func tcpReceived(_ bytes: UnsafeRawBufferPointer)
    /// The bytes received before came in so many TLS records.
    func tcpDecrypted(records: Int)
    /// The peer has sent FIN; writing may go on.
    func tcpPeerFinished()
    /// Some or all of the queued bytes were handed to the socket.
    func tcpWrote()
    /// - Parameter error: nil after `finish` and the peer's FIN, or after `drop`; otherwise the cause.
    func tcpClosed(error: TCPError?)
}

extension TCPHandler {
    package func tcpDecrypted(records: Int) {}
}

/// One TCP connection on libuv. Reactor thread only.
///
/// It doesn't use libwebsockets' raw role, which closes at the first end-of-file and drops the queue. Output is
/// collected and written once at the end of the turn. What the socket doesn't take at once goes to `uv_write`, one
/// write at a time.
package final class TCPConnection: Flushable {
    /// The most reads of its socket in a turn of the loop. libuv would go on as long as there is data, up to 32 times.
    static let readsPerTurn = 2

    package let reactor: Reactor
    private(set) var handle = allocateHandle(uv_tcp_t.self)
    private var handler: (any TCPHandler)?

    @exclusivity(unchecked) private(set) var output = OutputBuffer()
    /// The bytes of the current `uv_write`; they must not move until libuv is done with them.
    @exclusivity(unchecked) private(set) var inFlight = OutputBuffer()
    private var isWriting = false
    private(set) var isConnected = false
    private var isReading = false
    private var readsInTurn: (turn: UInt64, count: Int) = (.max, 0)
    /// It isn't read until the next turn.
    private var isResting = false
    private var wantsReading = true
    private(set) var wantsFinish = false
    private var hasFinished = false
    private var peerHasFinished = false
    private(set) var isClosed = false
    /// Set until the connection is established; nil if it was accepted.
    private(set) var dial: Dial?
    var isTouched = false

    private init(on reactor: Reactor, handler: any TCPHandler) {
        reactor.preconditionOnThread()
        self.reactor = reactor
        self.handler = handler
        openHandle()
    }

    private func openHandle() {
        checkUV(uv_tcp_init(reactor.loop, handle), "uv_tcp_init")
        handle.pointee.data = Unmanaged.passRetained(self).toOpaque()  // Released by closeOwnedHandle.
    }

    // MARK: Opening

    /// Resolves `host`, dials the allowed addresses in order until one answers, and tells `handler`.
    package static func dial(
        host: String, port: UInt16, options: DialOptions, on reactor: Reactor, handler: any TCPHandler
    ) -> TCPConnection {
        let connection = TCPConnection(on: reactor, handler: handler)
        let dial = Dial(options, of: connection)
        connection.dial = dial
        // Unowned: every connection ends with `close`, which ends the lookup.
        dial.lookUp(host, port) { [unowned connection] in connection.resolved($0) }
        return connection
    }

    /// Dials the allowed ones of `addresses` in order until one answers. If none can be dialled at all, `handler` is
    /// called before this returns.
    static func dial(
        _ addresses: [ResolvedAddress], options: DialOptions, on reactor: Reactor, handler: any TCPHandler
    ) -> TCPConnection {
        let connection = TCPConnection(on: reactor, handler: handler)
        connection.dial = Dial(options, of: connection)
        connection.resolved(.success(addresses))
        return connection
    }

    /// Takes ownership of a connected socket that was accepted here.
    package static func adopt(_ socket: Int32, on reactor: Reactor, handler: any TCPHandler) -> TCPConnection {
        let connection = TCPConnection(on: reactor, handler: handler)
        guard uv_tcp_open(connection.handle, socket) == 0 else {
            Glibc.close(socket)
            reactor.submit { [reference = Pinned(connection, to: reactor)] in
                reference.value.close(error: .broken("uv_tcp_open"))
            }
            return connection
        }
        connection.opened()
        return connection
    }

    private func resolved(_ result: Result<[ResolvedAddress], TCPError>) {
        guard !isClosed, let dial else { return }
        switch result {
        case .failure(let error): close(error: error)
        case .success(let found):
            dial.resolved(found)
            dialNext(of: dial, after: found.isEmpty ? .notResolved(NameLookup.noAddress) : .notAllowed)
        }
    }

    private func dialNext(of dial: Dial, after error: TCPError) {
        guard let address = dial.nextAddress() else { return close(error: error) }
        let connect = UnsafeMutablePointer<uv_connect_t>.allocate(capacity: 1)
        connect.pointee.data = handle.pointee.data
        bind(to: dial.options.source)
        let code = address.withSockaddr { uv_tcp_connect(connect, handle, $0) { tcpConnectDone($0!, $1) } }
        if code != 0 {
            connect.deallocate()
            dialFailed(dial, code)
        }
    }

    /// If the bind fails, libuv reports it as the result of connecting.
    private func bind(to source: String?) {
        guard let source else { return }
        var address = sockaddr_in()
        guard uv_ip4_addr(source, 0, &address) == 0 else { return }
        withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = uv_tcp_bind(handle, $0, 0) }
        }
    }

    /// The next address gets its own handle: libuv keeps a handle's first socket, whose family is that of the address
    /// that failed.
    private func dialFailed(_ dial: Dial, _ code: Int32) {
        if dial.hasMoreAddresses {
            closeOwnedHandle(handle)
            handle = allocateHandle(uv_tcp_t.self)
            openHandle()
        }
        dialNext(of: dial, after: .notConnected(uvErrorText(code)))
    }

    fileprivate func connectDone(_ status: Int32) {
        guard !isClosed, let dial else { return }
        guard status == 0 else { return dialFailed(dial, status) }
        dial.end()
        let remote = dial.address?.peer
        guard !dial.options.refusesThisMachine || !isOwn(remote) else { return close(error: .notAllowed) }
        guard queue(dial.options.prologue, to: remote) else { return close(error: .broken("no local address")) }
        self.dial = nil
        opened()
        handler?.tcpConnected()
    }

    /// Puts the prologue before the bytes sent while dialling.
    ///
    /// - Returns: whether it could be made.
    private func queue(_ prologue: DialOptions.Prologue?, to remote: SocketAddress?) -> Bool {
        guard let prologue else { return true }
        guard let remote, let local = localAddress(of: descriptor) else { return false }
        var first = OutputBuffer()
        prologue(local, remote).withUnsafeBytes { first.append($0, from: reactor.buffers) }
        first.append(UnsafeRawBufferPointer(output.front(limit: output.count)), from: reactor.buffers)
        output.release(to: reactor.buffers)
        output = first
        return true
    }

    private func opened() {
        isConnected = true
        uv_tcp_nodelay(handle, 1)
        uv_tcp_keepalive(handle, 1, 60)
        updateReading()
        reactor.touch(self)
    }

    func dialTimedOut() {
        close(error: .timedOut(milliseconds: dial?.options.timeoutMilliseconds ?? 0))
    }

    // MARK: For the handler

    package var queuedBytes: Int { output.count + inFlight.count }

    package func send(_ bytes: UnsafeRawBufferPointer) {
        reactor.preconditionOnThread()
        guard !isClosed, !wantsFinish else { return }
        output.append(bytes, from: reactor.buffers)
        reactor.touch(self)
    }

    package func setReading(paused: Bool) {
        reactor.preconditionOnThread()
        wantsReading = !paused
        updateReading()
    }

    /// Writes the queue, then sends FIN. Reading continues.
    package func finish() {
        reactor.preconditionOnThread()
        guard !isClosed, !wantsFinish else { return }
        wantsFinish = true
        reactor.touch(self)
    }

    /// Closes now; queued bytes are lost.
    package func drop() {
        reactor.preconditionOnThread()
        close(error: nil)
    }

    // MARK: Reading

    private func updateReading() {
        let reads = wantsReading && !isResting
        guard isConnected, !isClosed, !peerHasFinished, reads != isReading else { return }
        isReading = reads
        handle.withMemoryRebound(to: uv_stream_t.self, capacity: 1) { stream in
            _ = isReading ? uv_read_start(stream, tcpProvideBuffer, tcpReadDone) : uv_read_stop(stream)
        }
    }

    fileprivate func readDone(_ count: Int) {
        guard !isClosed else { return }
        if count > 0 {
            countRead()
            handler?.tcpReceived(UnsafeRawBufferPointer(rebasing: reactor.readBuffer[..<count]))
        } else if count == Int(UV_EOF.rawValue) {
            if let reset = pendingSocketError() { return close(error: .broken(reset)) }
            peerHasFinished = true
            isReading = false
            handler?.tcpPeerFinished()
            closeIfDone()
        } else if count < 0 {
            close(error: .broken(uvErrorText(Int32(count))))
        }
    }

    private func countRead() {
        if readsInTurn.turn != reactor.turn { readsInTurn = (reactor.turn, 0) }
        readsInTurn.count += 1
        guard readsInTurn.count >= Self.readsPerTurn else { return }
        isResting = true
        updateReading()
        reactor.touch(self)
    }

    /// At the end of the turn.
    private func endRest() {
        guard isResting else { return }
        isResting = false
        updateReading()
    }

    // MARK: Writing

    func flush() {
        endRest()
        guard isConnected, !isClosed, !isWriting else { return }
        let before = queuedBytes
        while !output.isEmpty, !isWriting {
            let chunk = output.front(limit: output.count)
            var buffer = uv_buf_init(chunk.baseAddress!.assumingMemoryBound(to: CChar.self), UInt32(chunk.count))
            let written = handle.withMemoryRebound(to: uv_stream_t.self, capacity: 1) { uv_try_write($0, &buffer, 1) }
            if written > 0 {
                output.removeFirst(Int(written), to: reactor.buffers)
            } else if written == UV_EAGAIN.rawValue {
                writeRest()
            } else {
                return close(error: .broken(uvErrorText(written)))
            }
        }
        sendFinishIfDue()
        if queuedBytes < before {
            handler?.tcpWrote()
        }
    }

    private func writeRest() {
        swap(&output, &inFlight)
        isWriting = true
        let chunk = inFlight.front(limit: inFlight.count)
        var buffer = uv_buf_init(chunk.baseAddress!.assumingMemoryBound(to: CChar.self), UInt32(chunk.count))
        let request = UnsafeMutablePointer<uv_write_t>.allocate(capacity: 1)
        request.pointee.data = handle.pointee.data
        let code = handle.withMemoryRebound(to: uv_stream_t.self, capacity: 1) { stream in
            uv_write(request, stream, &buffer, 1) { tcpWriteDone($0!, $1) }
        }
        if code != 0 {
            request.deallocate()
            isWriting = false
            inFlight.release(to: reactor.buffers)
            close(error: .broken(uvErrorText(code)))
        }
    }

    fileprivate func writeDone(_ status: Int32) {
        isWriting = false
        inFlight.release(to: reactor.buffers)
        guard !isClosed else { return }
        guard status == 0 else { return close(error: .broken(uvErrorText(status))) }
        handler?.tcpWrote()
        reactor.touch(self)
    }

    private func sendFinishIfDue() {
        guard wantsFinish, !hasFinished, output.isEmpty, !isWriting else { return }
        hasFinished = true
        shutdown(descriptor, Int32(SHUT_WR))
        closeIfDone()
    }

    // MARK: Closing

    /// Closes now, without calling the handler.
    func abandon() {
        handler = nil
        close(error: nil)
    }

    private func closeIfDone() {
        if hasFinished, peerHasFinished {
            close(error: nil)
        }
    }

    private func close(error: TCPError?) {
        guard !isClosed else { return }
        isClosed = true
        dial?.end()
        dial = nil
        output.release(to: reactor.buffers)
        closeOwnedHandle(handle)
        let handler = handler
        self.handler = nil
        handler?.tcpClosed(error: error)
    }
}

extension Reactor {
    /// For the reactor's shutdown: closes every TCP connection now and tells its handler.
    func dropTCPConnections() {
        var found: [TCPConnection] = []
        withUnsafeMutablePointer(to: &found) { found in
            uv_walk(
                loop,
                { handle, found in
                    guard let handle, handle.pointee.type == UV_TCP, uv_is_closing(handle) == 0 else { return }
                    found!.assumingMemoryBound(to: [TCPConnection].self).pointee.append(
                        connection(of: handle.pointee.data))
                }, found)
        }
        found.forEach { $0.drop() }
    }
}

// MARK: From libuv: recover the object, call one method

private func connection(of data: UnsafeMutableRawPointer) -> TCPConnection {
    Unmanaged<TCPConnection>.fromOpaque(data).takeUnretainedValue()
}

private func tcpConnectDone(_ request: UnsafeMutablePointer<uv_connect_t>, _ status: Int32) {
    let owner = connection(of: request.pointee.data)
    request.deallocate()
    owner.connectDone(status)
}

private func tcpWriteDone(_ request: UnsafeMutablePointer<uv_write_t>, _ status: Int32) {
    let owner = connection(of: request.pointee.data)
    request.deallocate()
    owner.writeDone(status)
}

private func tcpProvideBuffer(
    _ handle: UnsafeMutablePointer<uv_handle_t>?, _ suggested: Int, _ buffer: UnsafeMutablePointer<uv_buf_t>?
) {
    let memory = connection(of: handle!.pointee.data).reactor.readBuffer
    buffer!.pointee = uv_buf_init(memory.baseAddress!.assumingMemoryBound(to: CChar.self), UInt32(memory.count))
}

private func tcpReadDone(
    _ stream: UnsafeMutablePointer<uv_stream_t>?, _ count: Int, _ buffer: UnsafePointer<uv_buf_t>?
) {
    connection(of: stream!.pointee.data).readDone(count)
}
