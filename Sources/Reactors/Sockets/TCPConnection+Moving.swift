import CLibuv
import Glibc

/// From one reactor to another: a connection itself never changes its thread, its socket does.
extension TCPConnection {
    /// Gives the socket away, with what waits to be written. The handler hears nothing more.
    ///
    /// - Returns: nil where it isn't connected, has been told to finish, or there is no descriptor left; then it stays as it is.
    func leave() -> MovingSocket? {
        reactor.preconditionOnThread()
        guard isConnected, !isClosed, !wantsFinish else { return nil }
        // A second descriptor, since libuv closes the one that it has been given.
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { return nil }
        let moving = MovingSocket(copy, unsent: unsent())
        abandon()
        return moving
    }

    static func arrive(_ moving: MovingSocket, on reactor: Reactor, handler: any TCPHandler) -> TCPConnection {
        let connection = adopt(moving.take(), on: reactor, handler: handler)
        moving.unsent.withUnsafeBytes { connection.send($0) }
        return connection
    }

    /// Of a write under way libuv has written the front by itself; how much of it is left it says in bytes.
    private func unsent() -> [UInt8] {
        let left = handle.withMemoryRebound(to: uv_stream_t.self, capacity: 1) { uv_stream_get_write_queue_size($0) }
        return inFlight.front(limit: inFlight.count).suffix(left) + output.front(limit: output.count)
    }
}
