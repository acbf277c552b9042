import CLibwebsockets
import Glibc

/// One end of the channel between a gateway and the process that replaces it: records, each with the sockets that
/// belong to it. Blocking, for a thread of its own; one thread at a time.
///
/// A record is its number of bytes and its number of sockets, four bytes each with the highest first, then its bytes.
/// The sockets come with the first byte (SCM_RIGHTS, unix(7)).
package final class HandoverChannel: Sendable {
    /// Far above a session with the largest OUTPUT_BUFFER_BYTES.
    package static let maximumRecordBytes = 134_217_728
    /// Of one record; Linux passes at most 253 at once.
    package static let maximumSockets = 64
    private static let headerBytes = 8

    private let descriptor: Int32

    /// - Parameter descriptor: it takes ownership.
    package init(_ descriptor: Int32) {
        self.descriptor = descriptor
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        ignoreBrokenPipes()
    }

    deinit { close(descriptor) }

    /// A channel, and its other end for a process that is started. Nil without descriptors.
    package static func pair() -> (here: HandoverChannel, there: Int32)? {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { return nil }
        return (HandoverChannel(ends[0]), ends[1])
    }

    /// Whether a descriptor can be one: a program that is started by hand with the variable of the channel has none
    /// there.
    package static func isChannel(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
    }

    /// The process that has made the channel (SO_PEERCRED of a socketpair). Nil if this process can't see it.
    var maker: Int32? {
        // Its ids of process, user and group: a `ucred`, which Swift's Glibc doesn't show.
        var credentials: [Int32] = [0, 0, 0]
        var size = socklen_t(credentials.count * MemoryLayout<Int32>.size)
        let status = getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size)
        return status == 0 && credentials[0] > 0 ? credentials[0] : nil
    }

    // MARK: Sending

    /// - Parameter milliseconds: for the other end to take it.
    package func send(_ bytes: [UInt8], sockets: [Int32] = [], within milliseconds: Int) throws(HandoverFault) {
        guard bytes.count <= Self.maximumRecordBytes, sockets.count <= Self.maximumSockets else { throw .tooLarge }
        limit(SO_SNDTIMEO, milliseconds)
        let header = Self.bytes(of: UInt32(bytes.count)) + Self.bytes(of: UInt32(sockets.count))
        let sent = try sendHeader(header, sockets)
        try write(header[sent...])
        try write(bytes[...])
    }

    private func write(_ bytes: ArraySlice<UInt8>) throws(HandoverFault) {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.fault }
            rest = rest.dropFirst(count)
        }
    }

    /// - Returns: how many bytes of the header were sent, at least one.
    private func sendHeader(_ header: [UInt8], _ sockets: [Int32]) throws(HandoverFault) -> Int {
        var control = sockets.isEmpty ? [] : Self.control(sockets)
        var header = header
        while true {
            let count = Self.withMessage(&header, &control) { sendmsg(descriptor, $0, Int32(MSG_NOSIGNAL)) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.fault }
            return count
        }
    }

    // MARK: Receiving

    /// The caller owns the sockets.
    ///
    /// - Parameter milliseconds: for the other end, between any two pieces.
    package func receive(within milliseconds: Int) throws(HandoverFault) -> (bytes: [UInt8], sockets: [Int32]) {
        limit(SO_RCVTIMEO, milliseconds)
        var (header, sockets) = try receiveHeader()
        do throws(HandoverFault) {
            header += try read(Self.headerBytes - header.count)
            let (size, count) = (Self.number(header[..<4]), Self.number(header[4...]))
            guard size <= UInt32(Self.maximumRecordBytes) else { throw .tooLarge }
            guard count == UInt32(sockets.count) else { throw .malformed }
            return (try read(Int(size)), sockets)
        } catch {
            for socket in sockets { close(socket) }
            throw error
        }
    }

    private func receiveHeader() throws(HandoverFault) -> (bytes: [UInt8], sockets: [Int32]) {
        var header = [UInt8](repeating: 0, count: Self.headerBytes)
        var control = [UInt8](repeating: 0, count: Self.controlBytes(Self.maximumSockets))
        while true {
            var taken = 0
            let count = Self.withMessage(&header, &control) { message in
                let count = recvmsg(descriptor, message, Int32(MSG_CMSG_CLOEXEC))
                taken = message.pointee.msg_controllen
                return count
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw count == 0 ? .ended : Self.fault }
            return (Array(header[..<count]), Self.sockets(in: control.prefix(taken)))
        }
    }

    private func read(_ count: Int) throws(HandoverFault) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var taken = 0
        while taken < count {
            let now = bytes.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress! + taken, count - taken, 0) }
            if now < 0, errno == EINTR { continue }
            guard now > 0 else { throw now == 0 ? .ended : Self.fault }
            taken += now
        }
        return bytes
    }

    private func limit(_ option: Int32, _ milliseconds: Int) {
        var limit = timeval(tv_sec: milliseconds / 1_000, tv_usec: milliseconds % 1_000 * 1_000)
        setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    private static var fault: HandoverFault {
        switch errno {
        case EAGAIN: .timedOut
        case EPIPE, ECONNRESET: .ended
        default: .failed(systemErrorText())
        }
    }

    private static func bytes(of number: UInt32) -> [UInt8] {
        stride(from: UInt32(24), through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }
}

// MARK: Control messages (cmsg(3)), whose macros Swift's importer can't see

extension HandoverChannel {
    /// Of a `cmsghdr`: its length, level and type.
    private static let controlHeaderBytes = 16

    private static func controlBytes(_ count: Int) -> Int {
        controlHeaderBytes + (count * MemoryLayout<Int32>.size + 7) / 8 * 8
    }

    private static func control(_ sockets: [Int32]) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: controlBytes(sockets.count))
        let length = controlHeaderBytes + sockets.count * MemoryLayout<Int32>.size
        bytes.withUnsafeMutableBytes { room in
            room.storeBytes(of: length, toByteOffset: 0, as: Int.self)
            room.storeBytes(of: SOL_SOCKET, toByteOffset: 8, as: Int32.self)
            room.storeBytes(of: Int32(SCM_RIGHTS), toByteOffset: 12, as: Int32.self)
            for (index, socket) in sockets.enumerated() {
                room.storeBytes(of: socket, toByteOffset: controlHeaderBytes + index * 4, as: Int32.self)
            }
        }
        return bytes
    }

    /// The kernel writes one message of this kind at most.
    private static func sockets(in control: ArraySlice<UInt8>) -> [Int32] {
        guard control.count >= controlHeaderBytes else { return [] }
        return Array(control).withUnsafeBytes { bytes in
            let length = bytes.load(fromByteOffset: 0, as: Int.self)
            guard bytes.load(fromByteOffset: 8, as: Int32.self) == SOL_SOCKET,
                bytes.load(fromByteOffset: 12, as: Int32.self) == Int32(SCM_RIGHTS),
                (controlHeaderBytes...bytes.count).contains(length)
            else { return [] }
            return stride(from: controlHeaderBytes, to: length - 3, by: 4).map {
                bytes.load(fromByteOffset: $0, as: Int32.self)
            }
        }
    }

    private static func withMessage(
        _ data: inout [UInt8], _ control: inout [UInt8], _ body: (UnsafeMutablePointer<msghdr>) -> Int
    ) -> Int {
        data.withUnsafeMutableBytes { data in
            control.withUnsafeMutableBytes { control in
                var piece = iovec(iov_base: data.baseAddress, iov_len: data.count)
                return withUnsafeMutablePointer(to: &piece) { piece in
                    var message = msghdr()
                    message.msg_iov = piece
                    message.msg_iovlen = 1
                    message.msg_control = control.count == 0 ? nil : control.baseAddress
                    message.msg_controllen = control.count
                    return body(&message)
                }
            }
        }
    }
}

/// Why a record didn't get through.
package enum HandoverFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// The other process has ended, or closed its end.
    case ended
    case timedOut
    case tooLarge
    case malformed
    /// The system's error text.
    case failed(String)

    package var description: String {
        switch self {
        case .ended: "the other process has ended"
        case .timedOut: "the other process didn't answer in time"
        case .tooLarge: "a record is too large"
        case .malformed: "a record is malformed"
        case .failed(let reason): reason
        }
    }
}
