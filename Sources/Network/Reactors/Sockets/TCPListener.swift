import CLibuv
import Glibc
package import WireText

/// Accepts plain TCP connections on a reactor: for the internal listener, and for tools that simulate a target. The
/// edge has its own listener, `EdgeListener`.
package final class TCPListener: TimerTarget {
    package let descriptor: Int32
    private let poll = allocateHandle(uv_poll_t.self)
    private let accepted: (Int32, SocketAddress) -> Void
    private let reactor: Reactor
    private lazy var retry = ReactorTimer(on: reactor)

    private var isHeld: Bool

    /// - Parameters:
    ///   - accepts: false leaves new connections in the kernel's queue until `setAccepting`.
    ///   - accepted: called with each new socket and owns it, for instance by `TCPConnection.adopt`.
    package init(
        _ socket: consuming ListeningSocket, on reactor: Reactor, accepts: Bool = true,
        accepted: @escaping (Int32, SocketAddress) -> Void
    ) {
        isHeld = !accepts
        reactor.preconditionOnThread()
        descriptor = socket.take()
        self.reactor = reactor
        self.accepted = accepted
        checkUV(uv_poll_init(reactor.loop, poll, descriptor), "uv_poll_init")
        poll.pointee.data = Unmanaged.passRetained(self).toOpaque()  // Released by closeOwnedHandle, in `close`.
        beginAccepting()
    }

    package func setAccepting(_ accepts: Bool) {
        isHeld = !accepts
        if isHeld { uv_poll_stop(poll) } else { beginAccepting() }
    }

    private func beginAccepting() {
        guard !isHeld else { return }
        uv_poll_start(poll, Int32(UV_READABLE.rawValue)) { handle, _, _ in
            Unmanaged<TCPListener>.fromOpaque(handle!.pointee.data).takeUnretainedValue().acceptWaiting()
        }
    }

    private func acceptWaiting() {
        guard case .exhausted = acceptConnections(on: descriptor, accepted) else { return }
        uv_poll_stop(poll)
        retry.arm(at: reactor.now + AcceptOutcome.retryNanoseconds, calling: self)
    }

    package func timerFired(now: UInt64) { beginAccepting() }

    /// Call it once.
    package func close() {
        retry.cancel()
        uv_poll_stop(poll)
        Glibc.close(descriptor)
        closeOwnedHandle(poll)
    }
}
