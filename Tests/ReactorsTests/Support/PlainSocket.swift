import CLibuv
import Glibc
import Synchronization
import WireText

@testable import Reactors

/// A TCP socket with blocking calls, each limited by `Patience`.
struct PlainSocket: Sendable {
    let descriptor: Int32
    private let closing = Closing()

    /// A second close would hit whatever another thread has opened meanwhile, for any test of the process.
    private final class Closing: Sendable {
        let isDone = Atomic(false)
    }

    init(adopting descriptor: Int32) {
        self.descriptor = descriptor
        var limit = timeval(tv_sec: Patience.seconds, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    /// A socket of the address's family, bound to it. A port that is in use is taken only if the system allows it.
    static func bound(host: String, port: UInt16 = 0) throws -> PlainSocket {
        let address = NumericAddress(host: host, port: port)
        let socket = PlainSocket(adopting: Glibc.socket(address.family, Int32(SOCK_STREAM.rawValue), 0))
        guard address.with({ bind(socket.descriptor, $0, $1) }) == 0 else { throw PlainSocketError(errno) }
        return socket
    }

    static func connected(host: String, port: UInt16) throws -> PlainSocket {
        let address = NumericAddress(host: host, port: port)
        let socket = PlainSocket(adopting: Glibc.socket(address.family, Int32(SOCK_STREAM.rawValue), 0))
        guard address.with({ connect(socket.descriptor, $0, $1) }) == 0 else {
            defer { socket.close() }
            throw PlainSocketError(errno)
        }
        return socket
    }

    var port: UInt16 {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        _ = withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        return SocketAddress(storage)?.port ?? 0
    }

    /// The peer's address.
    var peer: SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        _ = withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
        }
        return SocketAddress(storage)
    }

    /// Ends the connection at once, with a FIN or a reset. `close` alone does so only when nobody else has the
    /// descriptor, and a process that another test is just starting may have a copy.
    func hangUp(resets: Bool) {
        if resets {
            var nobody = sockaddr(sa_family: sa_family_t(AF_UNSPEC), sa_data: sockaddr().sa_data)
            connect(descriptor, &nobody, socklen_t(MemoryLayout<sockaddr>.size))
        } else {
            shutdown(descriptor, Int32(SHUT_RDWR))
        }
        close()
    }

    /// At most `limit` bytes; empty at the peer's FIN, nil if the connection failed or nothing arrived in time.
    func read(upTo limit: Int) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: limit)
        let count = recv(descriptor, &buffer, limit, 0)
        return count < 0 ? nil : Array(buffer[..<count])
    }

    /// The number of received bytes that have not been read.
    var bytesThatWait: Int {
        var count: Int32 = 0
        return ioctl(descriptor, UInt(FIONREAD), &count) == 0 ? Int(count) : 0
    }

    /// Waits until `count` bytes have arrived, without reading them.
    ///
    /// - Returns: the number of bytes available.
    func awaitBytes(_ count: Int) -> Int {
        var buffer = [UInt8](repeating: 0, count: count)
        recv(descriptor, &buffer, count, Int32(MSG_PEEK | MSG_WAITALL))
        return bytesThatWait
    }

    /// Everything up to the peer's FIN, in pieces of at most `piece` bytes.
    func readAll(piece: Int = 65_536) -> [UInt8]? {
        var all: [UInt8] = []
        while let bytes = read(upTo: piece) {
            guard !bytes.isEmpty else { return all }
            all += bytes
        }
        return nil
    }

    @discardableResult
    func write(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Writes `bytes` repeatedly until the kernel takes no more for now.
    ///
    /// - Returns: the number of bytes taken.
    func fill(with bytes: [UInt8]) -> Int {
        var total = 0
        while true {
            let start = total % bytes.count
            let count = bytes[start...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            guard count > 0 else { return total }
            total += count
        }
    }

    /// - Returns: the number of bytes that the kernel takes without waiting for the peer.
    func offer(_ bytes: [UInt8]) -> Int {
        var total = 0
        while total < bytes.count {
            let count = bytes[total...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            guard count > 0 else { break }
            total += count
        }
        return total
    }

    /// While held, written bytes wait (for up to a fifth of a second) to be sent in one piece.
    func hold(_ isHeld: Bool) { setOption(descriptor, Int32(IPPROTO_TCP), TCP_CORK, isHeld ? 1 : 0) }

    /// Sends FIN; reading goes on.
    func finish() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Once, however often it is called.
    func close() {
        if !closing.isDone.exchange(true, ordering: .acquiringAndReleasing) { Glibc.close(descriptor) }
    }

    /// Makes the following close send RST.
    func resetAtClose() {
        var now = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
    }

    func option(_ level: Int32, _ name: Int32) -> Int32 {
        var value: Int32 = -1
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, level, name, &value, &length)
        return value
    }
}

struct PlainSocketError: Error, Equatable {
    let code: Int32

    init(_ code: Int32) { self.code = code }
}

/// A TCP server for single connections, on its own threads: the peer in the tests of `TCPConnection`.
struct PlainServer: Sendable {
    private let socket: PlainSocket
    var port: UInt16 { socket.port }

    init(host: String = "127.0.0.1", port: UInt16 = 0) throws {
        socket = try PlainSocket.bound(host: host, port: port)
        listen(socket.descriptor, 16)
    }

    /// Accepts one connection, runs `script` with it on a new thread, closes it, and returns the script's result; nil
    /// if no connection arrived in time.
    func serve<Result: Sendable>(_ script: @escaping @Sendable (PlainSocket) -> Result) async -> Result? {
        await withCheckedContinuation { continuation in
            startThread {
                let accepted = accept(socket.descriptor, nil, nil)
                guard accepted >= 0 else { return continuation.resume(returning: nil) }
                let connection = PlainSocket(adopting: accepted)
                let result = script(connection)
                connection.close()
                continuation.resume(returning: result)
            }
        }
    }

    /// Whether a connection waits to be accepted.
    var isDialled: Bool {
        var request = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&request, 1, 0) == 1
    }

    func close() { socket.close() }
}

/// A numeric address, in the form of the system calls.
struct NumericAddress {
    let storage: sockaddr_storage
    private let length: Int
    var family: Int32 { Int32(storage.ss_family) }

    init(host: String, port: UInt16) {
        var four = sockaddr_in()
        four.sin_family = sa_family_t(AF_INET)
        four.sin_port = port.bigEndian
        var six = sockaddr_in6()
        six.sin6_family = sa_family_t(AF_INET6)
        six.sin6_port = port.bigEndian
        if inet_pton(AF_INET, host, &four.sin_addr) == 1 {
            (storage, length) = Self.stored(four)
        } else if inet_pton(AF_INET6, host, &six.sin6_addr) == 1 {
            (storage, length) = Self.stored(six)
        } else {
            fatalError("\(host) is no numeric address")
        }
    }

    private static func stored<Address>(_ address: Address) -> (sockaddr_storage, Int) {
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: address, as: Address.self) }
        return (storage, MemoryLayout<Address>.size)
    }

    func with<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) }
        }
    }
}
