import CLibwebsockets
import Glibc
package import WireText

/// A listening socket that another process has made: systemd, or the gateway that this one replaces.
package struct InheritedListener: Sendable {
    package let descriptor: Int32
    /// `127.0.0.1:6200`, or `unix:/path`.
    package let name: String
    /// Nil for a Unix socket.
    package let address: SocketAddress?
    /// The file of a Unix socket, if this process removes it at its end.
    package private(set) var ownedPath: String?
    /// False leaves new connections in the kernel's queue until they are asked for.
    package var accepts = true

    package var isUnix: Bool { address == nil }

    /// The file of a Unix socket, whoever removes it.
    private let path: String?

    /// - Returns: nil if it isn't a listening stream socket of IPv4, IPv6 or a path; ``problem(with:)`` says why.
    package init?(_ descriptor: Int32) {
        guard Self.problem(with: descriptor) == nil else { return nil }
        self.descriptor = descriptor
        address = localAddress(of: descriptor)
        path = address == nil ? LocalSocket.path(of: descriptor) : nil
        name =
            address.map { $0.address.isIPv4 ? "\($0.address.text):\($0.port)" : "[\($0.address.text)]:\($0.port)" }
            ?? "unix:\(path ?? "")"
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    }

    /// Whether it leads to this machine alone: the internal listener has no TLS.
    package var isLocal: Bool {
        guard let bytes = address?.address.bytes else { return true }
        return bytes.count == 4 ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
    }

    /// The socket's file is removed at the end of this process.
    package mutating func ownFile() { ownedPath = path }

    /// - Returns: why it can't be served, after "is"; nil: it can be.
    package static func problem(with descriptor: Int32) -> String? {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return "not open" }
        guard status.st_mode & S_IFMT == S_IFSOCK else { return "not a socket" }
        guard option(SO_TYPE, of: descriptor) == Int32(SOCK_STREAM.rawValue) else { return "not a stream socket" }
        guard option(SO_ACCEPTCONN, of: descriptor) == 1 else { return "not listening" }
        switch option(SO_DOMAIN, of: descriptor) {
        case AF_INET, AF_INET6, AF_UNIX: return nil
        default: return "neither IPv4 nor IPv6 nor a Unix socket"
        }
    }

    private static func option(_ name: Int32, of descriptor: Int32) -> Int32? {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 ? value : nil
    }

    /// Divides sockets among reactors. Each socket is served, since a connection that waits in one waits in no other;
    /// and each reactor has one, if need be a copy of another's.
    static func spread(_ sockets: [Int32], over count: Int) throws(ReactorError) -> [[Int32]] {
        var spread = [[Int32]](repeating: [], count: count)
        for (index, socket) in sockets.enumerated() { spread[index % count].append(socket) }
        for index in spread.indices where spread[index].isEmpty {
            let copy = fcntl(sockets[index % sockets.count], F_DUPFD_CLOEXEC, 0)
            guard copy >= 0 else {
                throw .bindFailed(address: "a socket of another process", reason: systemErrorText())
            }
            spread[index] = [copy]
        }
        return spread
    }
}
