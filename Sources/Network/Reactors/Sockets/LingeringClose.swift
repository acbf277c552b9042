import CLibuv
import Glibc

/// Closes a socket so that the peer can still read the last bytes written.
///
/// If a socket is closed with unread input, the kernel sends RST, which may overtake our response: a client still
/// sending its body would never see the 413. This class therefore keeps a duplicate of the descriptor after
/// libwebsockets has closed its own, sends FIN, and discards input until the peer is done, the byte limit is reached or
/// time is up (RFC 9112 §9.6).
final class LingeringClose: TimerTarget {
    private static let limitNanoseconds: UInt64 = 2_000_000_000
    private static let limitBytes = 1 << 20
    private static let scratchBytes = 16_384

    private let descriptor: Int32
    private let poll = allocateHandle(uv_poll_t.self)
    private let finished: () -> Void
    private var timer: ReactorTimer?
    private var remaining = LingeringClose.limitBytes
    private var isClosed = false

    /// - Parameter finished: called once, when the descriptor is closed.
    init?(duplicating socket: Int32, on reactor: Reactor, finished: @escaping () -> Void) {
        descriptor = fcntl(socket, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else {
            free(poll)
            return nil
        }
        self.finished = finished
        checkUV(uv_poll_init(reactor.loop, poll, descriptor), "uv_poll_init")
        poll.pointee.data = Unmanaged.passRetained(self).toOpaque()  // Released by closeOwnedHandle.
        timer = ReactorTimer(on: reactor)
        timer?.arm(at: reactor.now + Self.limitNanoseconds, calling: self)
    }

    /// Call it when all output is in the socket's buffer.
    func begin() {
        shutdown(descriptor, Int32(SHUT_WR))
        uv_poll_start(poll, Int32(UV_READABLE.rawValue)) { handle, status, _ in
            let me = Unmanaged<LingeringClose>.fromOpaque(handle!.pointee.data).takeUnretainedValue()
            me.discard(failed: status < 0)
        }
    }

    private func discard(failed: Bool) {
        guard !failed, discardAll() else { return close() }
    }

    /// - Returns: whether more input may come.
    private func discardAll() -> Bool {
        withUnsafeTemporaryAllocation(byteCount: Self.scratchBytes, alignment: 1) { scratch in
            while remaining > 0 {
                // On TCP, MSG_TRUNC makes the kernel discard the bytes without copying them. A kernel replacement may
                // not support it, so the buffer really has the stated size.
                let count = recv(descriptor, scratch.baseAddress, scratch.count, Int32(MSG_TRUNC))
                guard count > 0 else { return count < 0 && errno == EAGAIN }
                remaining -= count
            }
            return false
        }
    }

    func timerFired(now: UInt64) {
        close()
    }

    private func close() {
        guard !isClosed else { return }
        isClosed = true
        timer?.cancel()
        uv_poll_stop(poll)
        Glibc.close(descriptor)
        closeOwnedHandle(poll)
        finished()
    }
}
