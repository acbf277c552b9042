import CLibuv
import Glibc
import WireText

/// Queries the kernel about a connection's socket.
extension TCPConnection {
    var descriptor: Int32 {
        var descriptor: Int32 = -1
        handle.withMemoryRebound(to: uv_handle_t.self, capacity: 1) { _ = uv_fileno($0, &descriptor) }
        return descriptor
    }

    /// libuv reports a reset that arrives together with the last bytes as an end of stream: it sees the hang-up after a short read and
    /// stops reading. The socket still has the error.
    func pendingSocketError() -> String? {
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == 0, error != 0 else { return nil }
        return String(cString: strerror(error))
    }

    /// Whether both ends have the same address: the connection leads back to this machine.
    func isOwn(_ remote: SocketAddress?) -> Bool {
        guard let remote, let local = localAddress(of: descriptor) else { return true }
        return local.address == remote.address
    }
}
