import Glibc

/// A Unix datagram socket that another process reads, by its address in NOTIFY_SOCKET: a path, or an abstract name
/// after `@`.
struct NotificationSocket: Equatable, Sendable {
    /// `sun_path`: an abstract name begins with a NUL and has none at its end.
    private let name: [UInt8]

    /// The time that a datagram may wait for a reader whose queue is full.
    private static let sendSeconds = 1

    /// - Returns: nil unless `address` names such a socket. (`vsock:` addresses are for virtual machines.)
    init?(address: String) {
        let bytes = Array(address.utf8)
        guard let first = bytes.first, bytes.count > 1, !bytes.contains(0) else { return nil }
        switch first {
        case UInt8(ascii: "/"): name = bytes + [0]
        case UInt8(ascii: "@"): name = [0] + bytes.dropFirst()
        default: return nil
        }
        guard name.count <= MemoryLayout.size(ofValue: sockaddr_un().sun_path) else { return nil }
    }

    /// Sends one datagram; waits at most `sendSeconds`. Not on a reactor.
    func send(_ text: String) throws(NotificationFailure) {
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { throw .ofLastError }
        defer { close(socket) }
        var limit = timeval(tv_sec: Self.sendSeconds, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let bytes = Array(text.utf8)
        let sent = withAddress { address, length in
            sendto(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL), address, length)
        }
        guard sent == bytes.count else { throw .ofLastError }
    }

    private func withAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let prefix = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 0
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(prefix + name.count))
            }
        }
    }
}

/// The system's reason why a notification wasn't sent.
struct NotificationFailure: Error, Equatable, CustomStringConvertible {
    let code: Int32

    static var ofLastError: NotificationFailure { NotificationFailure(code: errno) }

    var description: String { String(cString: strerror(code)) }
}
