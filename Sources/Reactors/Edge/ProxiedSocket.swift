import CLibuv
import Glibc
import ProxyProtocol

/// A socket that a trusted proxy has opened, until its PROXY header has told whose it is.
///
/// Exactly the header is taken off the socket: what stands behind it is TLS, which libwebsockets reads from there itself. Held by its
/// listener. Reactor thread only.
final class ProxiedSocket: TimerTarget {
    enum Outcome {
        /// The real client; nil for the proxy's own connections (LOCAL), and for clients that it can't name (UNKNOWN).
        case client(PeerAddress?)
        /// No header, a malformed one, or not all of one in time; the text is for the log.
        case refused(String)
        /// The proxy hung up before it had sent a byte, as those do that only ask whether the port is open.
        case silent
    }

    private let socket: Int32
    private let poll = allocateHandle(uv_poll_t.self)
    private var finished: ((Outcome) -> Void)?
    private var deadline: ReactorTimer?
    private var parser = ProxyHeaderParser()
    private var hasBegun = false

    /// - Parameters:
    ///   - socket: stays the caller's.
    ///   - milliseconds: from here to the header's last byte.
    ///   - finished: called once; not after `cancel`.
    init(
        _ socket: Int32, milliseconds: Int, on reactor: Reactor,
        finished: @escaping (Outcome) -> Void
    ) {
        self.socket = socket
        self.finished = finished
        checkUV(uv_poll_init(reactor.loop, poll, socket), "uv_poll_init")
        poll.pointee.data = Unmanaged.passRetained(self).toOpaque()  // Released by closeOwnedHandle.
        deadline = ReactorTimer(on: reactor)
        deadline?.arm(at: reactor.now + UInt64(milliseconds) * 1_000_000, calling: self)
        uv_poll_start(poll, Int32(UV_READABLE.rawValue)) { handle, status, _ in
            let me = Unmanaged<ProxiedSocket>.fromOpaque(handle!.pointee.data).takeUnretainedValue()
            status < 0 ? me.finish(.silent) : me.read()
        }
    }

    func timerFired(now: UInt64) {
        finish(.refused("no whole PROXY header in time"))
    }

    /// Ends the waiting without an outcome.
    func cancel() {
        guard finished != nil else { return }
        finished = nil
        deadline?.cancel()
        uv_poll_stop(poll)
        closeOwnedHandle(poll)
    }

    private func finish(_ outcome: Outcome) {
        let finished = finished
        cancel()  // Before the socket gets its next poll.
        finished?(outcome)
    }

    private func read() {
        withUnsafeTemporaryAllocation(byteCount: ProxyHeaderLimits.maximumBytes, alignment: 1) { buffer in
            let count = recv(socket, buffer.baseAddress, buffer.count, Int32(MSG_PEEK))
            if count < 0, errno == EAGAIN || errno == EINTR { return }
            guard count > 0 else { return finish(hasBegun ? .refused("a PROXY header without an end") : .silent) }
            hasBegun = true
            switch parser.parse(Array(buffer[..<count])[...]) {
            case .needsMore: take(count, into: buffer)
            case .complete(let header, let consumed):
                guard take(consumed, into: buffer) else { return }
                finish(.client(header.source.map { PeerAddress(bytes: $0.bytes, port: $0.port) }))
            case .malformed(let fault): finish(.refused("\(fault)"))
            }
        }
    }

    /// Takes what has been peeked at off the socket.
    @discardableResult
    private func take(_ count: Int, into buffer: UnsafeMutableRawBufferPointer) -> Bool {
        guard recv(socket, buffer.baseAddress, count, 0) == count else {
            finish(.refused("the socket lost bytes"))
            return false
        }
        return true
    }
}
