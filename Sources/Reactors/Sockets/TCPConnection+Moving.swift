import CLibuv
import Glibc

/// Moves a connection from one reactor to another. A connection object never changes its thread; only its socket does.
extension TCPConnection {
    /// Gives the socket away, with the bytes that wait to be written. The handler gets no more calls.
    ///
    /// - Returns: nil if it isn't connected, `finish` was called, or no descriptor is left; the connection then stays as it is.
    func leave() -> MovingSocket? {
        reactor.preconditionOnThread()
        guard isConnected, !isClosed, !wantsFinish else { return nil }
        // A second descriptor, because libuv closes its own.
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { return nil }
        let moving = MovingSocket(copy, unsent: unsent())
        abandon()
        return moving
    }

    static func adopt(_ moving: MovingSocket, on reactor: Reactor, handler: any TCPHandler) -> TCPConnection {
        let connection = adopt(moving.take(), on: reactor, handler: handler)
        moving.unsent.withUnsafeBytes { connection.send($0) }
        return connection
    }

    /// During a write libuv has already written the front of the data; it reports the number of bytes left.
    private func unsent() -> [UInt8] {
        let left = handle.withMemoryRebound(to: uv_stream_t.self, capacity: 1) { uv_stream_get_write_queue_size($0) }
        return inFlight.front(limit: inFlight.count).suffix(left) + output.front(limit: output.count)
    }
}
