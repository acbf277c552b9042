import CLibuv
import CLibwebsockets
import Glibc
import WireText

/// A listening TCP socket, created without libwebsockets.
///
/// libwebsockets 4.1.6 as Debian builds it doesn't set SO_REUSEPORT, so a second reactor could not bind. With IPv6
/// compiled in, it also listens on every interface when given one IPv4 address. Each reactor has its own socket on the
/// same address; the kernel distributes new connections among them. It would also distribute them among two processes
/// of one user, so the first socket checks that no other process listens there.
package struct ListeningSocket: ~Copyable, Sendable {
    package let descriptor: Int32
    /// As the kernel reports it: the port it chose if 0 was requested.
    package let port: UInt16

    /// The backlog for a burst of connections. If it is full, the kernel drops SYNs of honest clients, which are
    /// retransmitted after a second.
    private static let backlog: Int32 = 4_096

    /// - Parameters:
    ///   - host: a numeric IPv4 or IPv6 address.
    ///   - isFirst: false joins this process's sockets on that address; true throws if any socket listens there.
    package init(host: String, port: UInt16, isFirst: Bool = true) throws(ReactorError) {
        let name = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &found)
        guard code == 0, let found else {
            throw .bindFailed(address: name, reason: String(cString: gai_strerror(code)))
        }
        defer { freeaddrinfo(found) }
        if isFirst, port != 0 {
            close(try Self.bound(to: found.pointee, named: name, sharing: false))
        }
        let socket = try Self.bound(to: found.pointee, named: name, sharing: true)
        guard listen(socket, Self.backlog) == 0 else {
            let reason = systemErrorText()
            close(socket)
            throw .bindFailed(address: name, reason: reason)
        }
        descriptor = socket
        self.port = localPort(of: socket)
    }

    /// A listening socket of another process.
    ///
    /// - Parameter inherited: it takes ownership. `InheritedListener` has checked it.
    package init(inherited: Int32) {
        descriptor = inherited
        port = localPort(of: inherited)
    }

    /// A socket bound to the address. Next to a listener, Linux refuses a socket without SO_REUSEPORT, even if the
    /// listener has it. Leftover connections of an earlier process don't matter.
    private static func bound(
        to address: addrinfo, named name: String, sharing: Bool
    ) throws(ReactorError) -> Int32 {
        let socket = Glibc.socket(
            address.ai_family,
            Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { throw .bindFailed(address: name, reason: systemErrorText()) }
        setOption(socket, SOL_SOCKET, SO_REUSEADDR, 1)
        if sharing { setOption(socket, SOL_SOCKET, SO_REUSEPORT, 1) }
        if address.ai_family == AF_INET6 {
            // `::` also accepts IPv4, so it covers every address, whatever net.ipv6.bindv6only says.
            setOption(socket, Int32(IPPROTO_IPV6), IPV6_V6ONLY, isUnspecified(address) ? 0 : 1)
        }
        guard bind(socket, address.ai_addr, address.ai_addrlen) == 0 else {
            let (number, reason) = (errno, systemErrorText())
            close(socket)
            throw number == EACCES ? .portNotPermitted(address: name) : .bindFailed(address: name, reason: reason)
        }
        return socket
    }

    /// Transfers the descriptor to the caller, who must close it.
    consuming func take() -> Int32 {
        let descriptor = descriptor
        discard self
        return descriptor
    }

    deinit { close(descriptor) }
}

/// Whether the IPv6 address is `::`.
private func isUnspecified(_ address: addrinfo) -> Bool {
    address.ai_addr.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { six in
        withUnsafeBytes(of: six.pointee.sin6_addr) { $0.allSatisfy { $0 == 0 } }
    }
}

enum AcceptOutcome {
    case done
    /// No descriptor or memory for another socket (system error text). The waiting connections stay in the backlog, and
    /// the descriptor stays readable. Retrying at once would loop endlessly.
    case exhausted(String)

    /// Call it directly after a failed `accept`.
    static var ofLastError: AcceptOutcome {
        [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) ? .exhausted(systemErrorText()) : .done
    }

    /// How long accepting pauses then.
    static let retryNanoseconds: UInt64 = 100_000_000
}

/// Accepts waiting connections, a limited number at a time, so that a connection flood leaves time for established
/// connections.
@discardableResult
func acceptConnections(on descriptor: Int32, _ accepted: (Int32, SocketAddress) -> Void) -> AcceptOutcome {
    for _ in 0..<64 {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let socket = withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                accept(descriptor, address, &length)
            }
        }
        guard socket >= 0 else { return .ofLastError }
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)  // libwebsockets makes it non-blocking.
        guard let peer = SocketAddress(storage) else {
            close(socket)
            continue
        }
        setOption(socket, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        setKeepAlive(socket)
        setOption(socket, SOL_SOCKET, SO_SNDBUF, sendBufferBytes)
        accepted(socket, peer)
    }
    return .done
}

/// A fixed size, large compared with a frame. When poll reports a socket writable, a third of this is free, so it takes
/// a whole frame. See `WebSocketConnection.flush`.
private let sendBufferBytes: Int32 = 131_072

/// Turns on TCP keep-alive (RFC 9293 §3.8.4). A vanished peer is detected after a minute and a half, or later if data
/// waits to be acknowledged.
private func setKeepAlive(_ socket: Int32) {
    setOption(socket, SOL_SOCKET, SO_KEEPALIVE, 1)
    setOption(socket, Int32(IPPROTO_TCP), TCP_KEEPIDLE, 60)
    setOption(socket, Int32(IPPROTO_TCP), TCP_KEEPINTVL, 10)
    setOption(socket, Int32(IPPROTO_TCP), TCP_KEEPCNT, 3)
}

/// Dissolving the association makes Linux send RST (tcp(7)). SO_LINGER would send it only at close, which another owner
/// of the socket may perform.
func sendReset(on socket: Int32) {
    var unspecified = sockaddr()
    unspecified.sa_family = sa_family_t(AF_UNSPEC)
    _ = connect(socket, &unspecified, socklen_t(MemoryLayout<sockaddr>.size))
}

func setOption(_ socket: Int32, _ level: Int32, _ name: Int32, _ value: Int32) {
    var value = value
    setsockopt(socket, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
}

func systemErrorText() -> String {
    String(cString: strerror(errno))
}

private func localPort(of socket: Int32) -> UInt16 {
    localAddress(of: socket)?.port ?? 0
}

/// The socket's local address.
func localAddress(of socket: Int32) -> SocketAddress? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let code = withUnsafeMutablePointer(to: &storage) { storage in
        storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) }
    }
    return code == 0 ? SocketAddress(storage) : nil
}
