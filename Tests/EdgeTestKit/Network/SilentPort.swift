import Foundation

/// A port that never answers a dial: its backlog is full, so the kernel drops every further SYN.
package final class SilentPort: Sendable {
    package let port: Int
    private let descriptors: [Int32]

    package init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var descriptors = [listener]
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutableBytes(of: &address) { bytes in
            let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            return bind(listener, pointer, length) == 0 && listen(listener, 0) == 0
                && getsockname(listener, pointer, &length) == 0
        }
        port = Int(UInt16(bigEndian: address.sin_port))
        // A backlog of length 0 accepts one connection; the others make sure that it is full.
        for _ in 0..<4 {
            let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
            withUnsafeBytes(of: &address) { bytes in
                _ = connect(filler, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), length)
            }
            descriptors.append(filler)
        }
        self.descriptors = descriptors
        guard isListening else { throw EdgeTestError("no silent port: \(String(cString: strerror(errno)))") }
    }

    deinit {
        for descriptor in descriptors { close(descriptor) }
    }
}
