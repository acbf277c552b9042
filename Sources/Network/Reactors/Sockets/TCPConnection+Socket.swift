import CLibuv
import Glibc
import Synchronization
import WireText

/// Queries the kernel about a connection's socket.
extension TCPConnection {
    var descriptor: Int32 {
        var descriptor: Int32 = -1
        handle.withMemoryRebound(to: uv_handle_t.self, capacity: 1) { _ = uv_fileno($0, &descriptor) }
        return descriptor
    }

    /// libuv reports a reset that arrives together with the last bytes as an end of stream: it sees the hang-up after a
    /// short read and stops reading. The socket still has the error.
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

/// Moves a connection from one reactor to another. A connection object never changes its thread; only its socket does.
extension TCPConnection {
    /// Gives the socket away, with the bytes that wait to be written. The handler gets no more calls.
    ///
    /// - Returns: nil if it isn't connected, `finish` was called, or no descriptor is left; the connection then stays
    ///   as it is.
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

/// A connected socket on its way between two reactors. The caller of `take` owns it; otherwise it is closed.
final class MovingSocket: Sendable {
    private static let taken: Int32 = -1

    /// Sent bytes that the kernel hasn't taken yet.
    let unsent: [UInt8]
    private let descriptor: Atomic<Int32>

    init(_ descriptor: Int32, unsent: [UInt8]) {
        self.descriptor = Atomic(descriptor)
        self.unsent = unsent
    }

    deinit {
        let left = take()
        if left != Self.taken { Glibc.close(left) }
    }

    /// Without taking it.
    var held: Int32 { descriptor.load(ordering: .relaxed) }

    /// Only the first call gets the descriptor.
    func take() -> Int32 { descriptor.exchange(Self.taken, ordering: .relaxed) }
}
