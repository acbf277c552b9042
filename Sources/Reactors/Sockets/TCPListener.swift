import CLibuv
import Glibc
package import WireText

/// Accepts plain TCP connections on a reactor, for tools that simulate a target. The edge has its own listener, `EdgeListener`.
package final class TCPListener {
    private let descriptor: Int32
    private let poll = allocateHandle(uv_poll_t.self)
    private let accepted: (Int32, SocketAddress) -> Void

    /// - Parameter accepted: called with each new socket and owns it, for instance by `TCPConnection.adopt`.
    package init(
        _ socket: consuming ListeningSocket, on reactor: Reactor, accepted: @escaping (Int32, SocketAddress) -> Void
    ) {
        reactor.preconditionOnThread()
        descriptor = socket.take()
        self.accepted = accepted
        checkUV(uv_poll_init(reactor.loop, poll, descriptor), "uv_poll_init")
        poll.pointee.data = Unmanaged.passRetained(self).toOpaque()  // Released by closeOwnedHandle, in `close`.
        uv_poll_start(poll, Int32(UV_READABLE.rawValue)) { handle, _, _ in
            let me = Unmanaged<TCPListener>.fromOpaque(handle!.pointee.data).takeUnretainedValue()
            acceptConnections(on: me.descriptor, me.accepted)
        }
    }

    /// Call it once.
    package func close() {
        uv_poll_stop(poll)
        Glibc.close(descriptor)
        closeOwnedHandle(poll)
    }
}
