import CLibuv
import Glibc

/// What the kernel says of a connection's socket.
extension TCPConnection {
    var descriptor: Int32 {
        var descriptor: Int32 = -1
        handle.withMemoryRebound(to: uv_handle_t.self, capacity: 1) { _ = uv_fileno($0, &descriptor) }
        return descriptor
    }

    /// A reset that came together with the last bytes libuv tells as an end of the stream: it sees the hang-up behind a short read, and
    /// doesn't read on. The socket still knows.
    func pendingSocketError() -> String? {
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == 0, error != 0 else { return nil }
        return String(cString: strerror(error))
    }

    /// Its two ends have one address: it has come back to this machine.
    func isOwn(_ remote: PeerAddress?) -> Bool {
        guard let remote, let local = localAddress(of: descriptor) else { return true }
        return local.bytes == remote.bytes
    }
}
