import Foundation

/// A TCP socket of the loopback interface. Its calls block.
struct Socket: Sendable {
    let descriptor: Int32

    static func listening(on port: UInt16) throws -> Socket {
        let socket = try make()
        var one: Int32 = 1
        setsockopt(socket.descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        guard socket.at(port, bind) == 0, listen(socket.descriptor, 16) == 0 else {
            throw Failure("port \(port) can't be had: errno \(errno)")
        }
        return socket
    }

    static func connected(to port: UInt16) throws -> Socket {
        let socket = try make()
        guard socket.at(port, connect) == 0 else { throw Failure("nobody listens on port \(port): errno \(errno)") }
        return socket.withoutDelay()
    }

    private static func make() throws -> Socket {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw Failure("no socket: errno \(errno)") }
        return Socket(descriptor: descriptor)
    }

    private func at(
        _ port: UInt16, _ call: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                call(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    var port: UInt16 {
        get throws {
            var address = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let answer = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
            }
            guard answer == 0 else { throw Failure("a socket has no port: errno \(errno)") }
            return UInt16(bigEndian: address.sin_port)
        }
    }

    func accept() throws -> Socket {
        let accepted = Glibc.accept(descriptor, nil, nil)
        guard accepted >= 0 else { throw Failure("accept: errno \(errno)") }
        return Socket(descriptor: accepted).withoutDelay()
    }

    private func withoutDelay() -> Socket {
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        return self
    }

    /// - Returns: nil at the end.
    func read(atMost limit: Int = 4_096) -> [UInt8]? {
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            count = max(Glibc.read(descriptor, buffer.baseAddress, limit), 0)
        }
        return bytes.isEmpty ? nil : bytes
    }

    /// - Returns: false if the connection is lost.
    func write(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.withUnsafeBytes { buffer in
            var sent = 0
            while sent < buffer.count {
                let count = send(
                    descriptor, buffer.baseAddress?.advanced(by: sent), buffer.count - sent,
                    Int32(MSG_NOSIGNAL))
                guard count > 0 else { return false }
                sent += count
            }
            return true
        }
    }

    /// Closing resets the connection in place of ending it.
    func resetWhenClosed() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    func close() { Glibc.close(descriptor) }
}
