import CLibuv
import Glibc

/// A listening TCP socket of our own.
///
/// Ours, because libwebsockets 4.1.6 as Debian builds it sets no SO_REUSEPORT (so a second reactor could not bind), and
/// because with IPv6 compiled in it listens on every interface when told one IPv4 address. Each reactor has a socket of its
/// own on the same address; the kernel spreads new connections over them. It would do so over two processes of one user as well,
/// hence the first of our sockets asks whether anybody listens there.
package struct ListeningSocket: ~Copyable, Sendable {
    package let descriptor: Int32
    /// As the kernel reports it: with the port it chose where 0 was asked for.
    package let port: UInt16

    /// Of a flood that comes at once; where it is full the kernel drops an honest client's SYN, which comes again after a second.
    private static let backlog: Int32 = 4_096

    /// - Parameters:
    ///   - host: a numeric IPv4 or IPv6 address.
    ///   - isFirst: false joins sockets of this process that listen there; true throws where anybody does.
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

    /// A socket on the address. One that doesn't share it is refused by Linux beside a listener, even one that would share, but
    /// not beside connections that are left of an earlier process.
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
            // `::` takes IPv4 as well, so that it is every address, whatever net.ipv6.bindv6only says.
            setOption(socket, Int32(IPPROTO_IPV6), IPV6_V6ONLY, isUnspecified(address) ? 0 : 1)
        }
        guard bind(socket, address.ai_addr, address.ai_addrlen) == 0 else {
            let (number, reason) = (errno, systemErrorText())
            close(socket)
            throw number == EACCES ? .portNotPermitted(address: name) : .bindFailed(address: name, reason: reason)
        }
        return socket
    }

    /// Takes the descriptor out; whoever takes it closes it.
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
    /// No descriptor or no memory for another socket (system error text): what waits stays in the backlog, and the descriptor stays
    /// readable. Who asks again at once asks for ever.
    case exhausted(String)

    /// Right after an `accept` that failed.
    static var ofLastError: AcceptOutcome {
        [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) ? .exhausted(systemErrorText()) : .done
    }

    /// How long new connections wait then.
    static let retryNanoseconds: UInt64 = 100_000_000
}

/// Accepts what waits on a listening descriptor, a few at a time, so that a storm leaves room for the connections that stand.
@discardableResult
func acceptConnections(on descriptor: Int32, _ accepted: (Int32, PeerAddress) -> Void) -> AcceptOutcome {
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
        guard let peer = PeerAddress(storage) else {
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

/// Fixed, and large against a frame: a socket that poll calls writable has a third of this free, so it takes a whole frame. See
/// `WebSocketConnection.flush`.
private let sendBufferBytes: Int32 = 131_072

/// The kernel asks a quiet peer whether it is still there (RFC 9293 §3.8.4). One that has vanished is given up after a minute and a
/// half, or later where something waits to be acknowledged.
private func setKeepAlive(_ socket: Int32) {
    setOption(socket, SOL_SOCKET, SO_KEEPALIVE, 1)
    setOption(socket, Int32(IPPROTO_TCP), TCP_KEEPIDLE, 60)
    setOption(socket, Int32(IPPROTO_TCP), TCP_KEEPINTVL, 10)
    setOption(socket, Int32(IPPROTO_TCP), TCP_KEEPCNT, 3)
}

/// Dissolving the association makes Linux send RST (tcp(7)); SO_LINGER would leave that to a close, which may be somebody else's.
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

/// The socket's own end.
func localAddress(of socket: Int32) -> PeerAddress? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let code = withUnsafeMutablePointer(to: &storage) { storage in
        storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) }
    }
    return code == 0 ? PeerAddress(storage) : nil
}
