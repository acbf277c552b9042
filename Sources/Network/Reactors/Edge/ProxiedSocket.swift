import CLibuv
import Glibc
import ProxyProtocol
import WireText

/// A socket opened by a trusted proxy, until its PROXY header is read.
///
/// It consumes exactly the header from the socket; libwebsockets reads the TLS data that follows. Owned by its
/// listener. Reactor thread only.
final class ProxiedSocket: TimerTarget {
    enum Outcome {
        /// The real client; nil for the proxy's own connections (LOCAL) and for unknown clients (UNKNOWN).
        case client(SocketAddress?)
        /// The header is missing, malformed or incomplete at the deadline; the text is for the log.
        case refused(String)
        /// The proxy closed before it sent a byte, as a port check does.
        case silent
    }

    private let socket: Int32
    private let poll = allocateHandle(uv_poll_t.self)
    private var finished: ((Outcome) -> Void)?
    private var deadline: ReactorTimer?
    private var parser = ProxyHeaderParser()
    private var hasBegun = false

    /// - Parameters:
    ///   - socket: the caller keeps ownership.
    ///   - milliseconds: time limit for the whole header, from now.
    ///   - finished: called once; never after `cancel`.
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

    /// Stops waiting, without an outcome.
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
                finish(.client(header.source))
            case .malformed(let fault): finish(.refused("\(fault)"))
            }
        }
    }

    /// Removes the peeked bytes from the socket.
    @discardableResult
    private func take(_ count: Int, into buffer: UnsafeMutableRawBufferPointer) -> Bool {
        guard recv(socket, buffer.baseAddress, count, 0) == count else {
            finish(.refused("the socket lost bytes"))
            return false
        }
        return true
    }
}
