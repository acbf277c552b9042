import CLibuv
import CLibwebsockets
import Glibc

/// A listening Unix socket for tools of the same user on the same machine. Its connections are `TCPConnection`s.
///
/// The socket's file has its mode from creation and is removed at the end.
package final class LocalListener: TimerTarget {
    /// Nil: the socket's file isn't ours.
    private let path: String?
    package let descriptor: Int32
    private var isHeld = false
    private let poll = allocateHandle(uv_poll_t.self)
    private let accepted: (Int32) -> Void
    private let reactor: Reactor
    private lazy var retry = ReactorTimer(on: reactor)

    /// - Parameters:
    ///   - path: at most `LocalSocket.maximumPathBytes`; a stale socket there is replaced.
    ///   - mode: of the socket's file; write permission is needed to connect.
    ///   - group: of the socket's file; nil: the process's own.
    ///   - accepted: called with each new socket and owns it, for instance by `TCPConnection.adopt`.
    package init(
        path: String, mode: UInt32 = LocalSocket.ownerMode, group: UInt32? = nil, on reactor: Reactor,
        accepted: @escaping (Int32) -> Void
    ) throws(ReactorError) {
        reactor.preconditionOnThread()
        self.path = path
        self.reactor = reactor
        self.accepted = accepted
        descriptor = try LocalSocket.listen(path, mode: mode, group: group)
        open()
    }

    /// Goes on with a listening socket of another process.
    ///
    /// - Parameters:
    ///   - inherited: it takes ownership. `InheritedListener` has checked it.
    ///   - path: of its file, which is removed at the end; nil: the file isn't ours.
    ///   - accepts: false leaves new connections in the kernel's queue until `setAccepting`.
    package init(
        inherited: Int32, path: String?, on reactor: Reactor, accepts: Bool = true, accepted: @escaping (Int32) -> Void
    ) {
        reactor.preconditionOnThread()
        self.path = path
        self.reactor = reactor
        self.accepted = accepted
        descriptor = inherited
        isHeld = !accepts
        open()
    }

    private func open() {
        checkUV(uv_poll_init(reactor.loop, poll, descriptor), "uv_poll_init")
        poll.pointee.data = Unmanaged.passRetained(self).toOpaque()  // Released by closeOwnedHandle, in `close`.
        beginAccepting()
    }

    package func setAccepting(_ accepts: Bool) {
        isHeld = !accepts
        if isHeld { uv_poll_stop(poll) } else { beginAccepting() }
    }

    private func beginAccepting() {
        guard !isHeld else { return }
        uv_poll_start(poll, Int32(UV_READABLE.rawValue)) { handle, _, _ in
            Unmanaged<LocalListener>.fromOpaque(handle!.pointee.data).takeUnretainedValue().acceptOne()
        }
    }

    package func timerFired(now: UInt64) { beginAccepting() }

    private func acceptOne() {
        let socket = accept(descriptor, nil, nil)
        guard socket >= 0 else {
            guard case .exhausted = AcceptOutcome.ofLastError else { return }
            uv_poll_stop(poll)
            return retry.arm(at: reactor.now + AcceptOutcome.retryNanoseconds, calling: self)
        }
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)  // libuv makes it non-blocking.
        accepted(socket)
    }

    /// Call it once.
    ///
    /// - Parameter keepsFile: another process goes on with the socket.
    package func close(keepsFile: Bool = false) {
        if let path, !keepsFile { unlink(path) }
        retry.cancel()
        uv_poll_stop(poll)
        Glibc.close(descriptor)
        closeOwnedHandle(poll)
    }
}

/// Unix sockets by path.
package enum LocalSocket {
    /// The capacity of `sockaddr_un`, without the final NUL.
    package static let maximumPathBytes = 107
    /// Only the owner may connect.
    package static let ownerMode: UInt32 = 0o600
    /// The owner and the group may connect.
    package static let sharedMode: UInt32 = 0o660

    /// Sends `request` to the socket's listener and waits for the whole answer. Blocking: not for a reactor.
    ///
    /// - Returns: nil if nothing listens there, access is denied, or no answer arrives within `secondsToWait`.
    package static func exchange(
        _ path: String, _ request: [UInt8], maximumAnswer: Int, secondsToWait: Int = 10
    ) -> [UInt8]? {
        guard let socket = connect(path) else { return nil }
        defer { Glibc.close(socket) }
        var limit = timeval(tv_sec: secondsToWait, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        // A request is short: the socket's buffer takes it whole.
        guard write(socket, request, request.count) == request.count else { return nil }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while answer.count < maximumAnswer {
            let count = read(socket, &buffer, buffer.count)
            guard count > 0 else { return count == 0 && !answer.isEmpty ? answer : nil }
            answer += buffer[..<count]
        }
        return nil
    }

    /// - Returns: a blocking descriptor; nil if nothing listens there or access is denied.
    static func connect(_ path: String) -> Int32? {
        let socket = socket()
        guard socket >= 0 else { return nil }
        guard withAddress(path, { Glibc.connect(socket, $0, $1) }) == 0 else {
            Glibc.close(socket)
            return nil
        }
        return socket
    }

    static func listen(
        _ path: String, mode: UInt32 = ownerMode, group: UInt32? = nil
    ) throws(ReactorError) -> Int32 {
        try removeStale(path)
        let socket = socket()
        guard socket >= 0 else { throw .bindFailed(address: path, reason: systemErrorText()) }
        // Before `bind`: on Linux the file then has no other permissions from creation. Those of a group wait until it
        // is the right one.
        fchmod(socket, group == nil ? mode : ownerMode)
        guard withAddress(path, { bind(socket, $0, $1) }) == 0 else { throw abandon(socket, at: path) }
        if let group, lchown(path, uid_t.max, group) != 0 {
            defer { unlink(path) }
            throw abandon(socket, at: path, "its group can't be changed: ")
        }
        guard Glibc.listen(socket, 16) == 0 else { throw abandon(socket, at: path) }
        // The process's umask may have removed more permissions than intended.
        chmod(path, mode)
        _ = fcntl(socket, F_SETFL, O_NONBLOCK)
        return socket
    }

    /// After a failed system call.
    private static func abandon(_ socket: Int32, at path: String, _ prefix: String = "") -> ReactorError {
        let reason = prefix + systemErrorText()
        Glibc.close(socket)
        return .bindFailed(address: path, reason: reason)
    }

    /// Of a bound socket.
    static func path(of socket: Int32) -> String? {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let code = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) }
        }
        guard code == 0, address.sun_family == sa_family_t(AF_UNIX) else { return nil }
        let path = withUnsafeBytes(of: address.sun_path) { Array($0.prefix { $0 != 0 }) }
        return path.isEmpty ? nil : String(decoding: path, as: UTF8.self)
    }

    /// A killed process leaves its socket's file behind. If the socket still accepts connections, another process uses
    /// it.
    private static func removeStale(_ path: String) throws(ReactorError) {
        var information = stat()
        guard lstat(path, &information) == 0 else { return }
        guard information.st_mode & S_IFMT == S_IFSOCK else {
            throw .bindFailed(address: path, reason: "there is something that isn't a socket")
        }
        if let socket = connect(path) {
            Glibc.close(socket)
            throw .bindFailed(address: path, reason: "another gateway answers there")
        }
        unlink(path)
    }

    private static func socket() -> Int32 {
        Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    }

    /// - Returns: the result of `body`; -1 with ENAMETOOLONG if the path doesn't fit.
    private static func withAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard path.utf8.count <= maximumPathBytes else {
            errno = ENAMETOOLONG
            return -1
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
