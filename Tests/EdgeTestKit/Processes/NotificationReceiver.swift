import Foundation
import Glibc

/// A service manager's end of sd_notify(3): a datagram socket, with everything that has arrived.
package final class NotificationReceiver: Sendable {
    /// One element a datagram.
    package let messages = Awaited<[String]>([])
    /// The value of NOTIFY_SOCKET.
    package let address: String
    private let socket: Int32

    /// - Parameter address: a path, or an abstract name after `@`.
    package init(_ address: String) throws {
        self.address = address
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        self.socket = socket
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        let bytes = address.hasPrefix("@") ? [0] + Array(address.utf8.dropFirst()) : Array(address.utf8)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: bytes) }
        // A path may end without a NUL.
        let length = socklen_t((MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 0) + bytes.count)
        let bound = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, length) }
        }
        guard bound == 0 else { throw EdgeTestError("\(address) can't be bound: \(errno)") }
        Thread.detachNewThread { [messages] in
            var buffer = [UInt8](repeating: 0, count: 8_192)
            while case let count = recv(socket, &buffer, buffer.count, 0), count > 0 {
                let text = String(decoding: buffer[..<count], as: UTF8.self)
                messages.update { $0.append(text) }
            }
            close(socket)
        }
    }

    deinit {
        // Wakes the reading thread, which closes the socket.
        shutdown(socket, Int32(SHUT_RDWR))
    }

    /// Waits for a message with the assignment `line`, and takes it with all that came before it.
    @discardableResult
    package func next(_ line: String) async throws -> String {
        try await messages.wait(for: "the notification \(line)") { messages in
            guard let index = messages.firstIndex(where: { $0.split(separator: "\n").contains(Substring(line)) }) else {
                return nil
            }
            defer { messages.removeSubrange(...index) }
            return messages[index]
        }
    }
}
