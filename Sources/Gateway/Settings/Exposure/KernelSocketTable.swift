import WireText

/// The listening sockets in `/proc/net/tcp` or `/proc/net/tcp6` (proc_pid_net(5)), read in pieces of any size.
///
/// A line names its socket as `0100007F:0FA0`: the address in words of 32 bits as they are in memory, which on the
/// little-endian machines that this runs on reverses the bytes of each, and the port. A line that isn't understood is
/// skipped.
struct KernelSocketTable: Sendable {
    /// Bytes of a line; a longer one is skipped.
    static let maximumLineBytes = 512
    /// Sockets that are kept: more than there are ports.
    static let maximumCount = 65_536

    private(set) var listening: Set<SocketAddress> = []
    private var line: [UInt8] = []
    private var isTooLong = false

    mutating func feed(_ bytes: ArraySlice<UInt8>) {
        for byte in bytes {
            if byte == UInt8(ascii: "\n") {
                endLine()
            } else if line.count < Self.maximumLineBytes {
                line.append(byte)
            } else {
                isTooLong = true
            }
        }
    }

    /// The last line, if the text doesn't end with a newline.
    mutating func finish() { endLine() }

    private mutating func endLine() {
        defer {
            line.removeAll(keepingCapacity: true)
            isTooLong = false
        }
        guard !isTooLong, listening.count < Self.maximumCount, let socket = Self.listeningSocket(line[...]) else {
            return
        }
        listening.insert(socket)
    }

    /// `TCP_LISTEN` of the kernel's `net/tcp_states.h`.
    private static let listenState = Array("0A".utf8)

    /// The second of the columns `sl local_address rem_address st …`, if the fourth says that it listens.
    static func listeningSocket(_ line: ArraySlice<UInt8>) -> SocketAddress? {
        let columns = line.split(separator: UInt8(ascii: " "), maxSplits: 4)
        guard columns.count >= 4, columns[0].last == UInt8(ascii: ":"), columns[3].elementsEqual(listenState) else {
            return nil
        }
        let parts = columns[1].split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 2, let port = bytes(parts[1], count: 2),
            let words = bytes(parts[0], count: 4) ?? bytes(parts[0], count: 16)
        else { return nil }
        let address = stride(from: 0, to: words.count, by: 4).flatMap { words[$0..<$0 + 4].reversed() }
        return SocketAddress(bytes: address, port: UInt16(port[0]) << 8 | UInt16(port[1]))
    }

    private static func bytes(_ digits: ArraySlice<UInt8>, count: Int) -> [UInt8]? {
        Hexadecimal.decode(String(decoding: digits, as: UTF8.self), count: count)
    }
}
