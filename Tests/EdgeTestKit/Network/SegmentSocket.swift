import Foundation

/// A TCP socket with direct system calls: each piece is sent at once as a segment (TCP_NODELAY). For one thread at a
/// time.
package final class SegmentSocket: Sendable {
    private let descriptor: Int32

    /// Connects to 127.0.0.1.
    package init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        let connected = withUnsafeBytes(of: &address) {
            connect(descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
        }
        guard connected == 0 else { throw EdgeTestError("no connection: \(String(cString: strerror(errno)))") }
        var isOn: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    deinit { close(descriptor) }

    /// - Returns: false once the peer accepts no more bytes.
    @discardableResult
    package func send(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.withUnsafeBytes { Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            == bytes.count
    }

    /// Whether the peer has sent bytes or ended the connection.
    package var hasInput: Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&request, 1, 0) == 1
    }

    /// Waits for input; empty at the end of the connection, or if nothing arrives within 20 s.
    package func receive() -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return Array(buffer[..<max(0, count)])
    }

    /// All bytes up to the end, or until `isEnough` returns true.
    package func receive(until isEnough: ([UInt8]) -> Bool = { _ in false }) -> [UInt8] {
        var all: [UInt8] = []
        while !isEnough(all) {
            let more = receive()
            guard !more.isEmpty else { break }
            all += more
        }
        return all
    }

    /// Ends our direction; the other direction stays open.
    package func finish() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Makes the socket close with a reset instead of a FIN when this object is released.
    package func resetAtClose() {
        var now = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
    }
}

/// Runs blocking code on its own thread.
package func onOwnThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Swift.Result { try body() }) }
    }
}
