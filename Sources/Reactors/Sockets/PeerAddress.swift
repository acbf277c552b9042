import CLibuv
import Glibc

/// The address and port of one end of a TCP connection, as the kernel or a trusted proxy reports it. IPv4-mapped IPv6 addresses are stored
/// as IPv4 addresses.
package struct PeerAddress: Hashable, Sendable {
    /// 4 bytes or 16, in network order.
    package let bytes: [UInt8]
    package let port: UInt16

    package var isIPv4: Bool { bytes.count == 4 }

    /// The key for limits: the IPv4 address, or an IPv6 address's /64, the smallest block that one subscriber has.
    var limitKey: ArraySlice<UInt8> { isIPv4 ? bytes[...] : bytes[..<8] }

    /// - Parameter bytes: 4 or 16; an IPv4 address must not be mapped.
    init(bytes: [UInt8], port: UInt16) {
        self.bytes = bytes
        self.port = port
    }

    init?(_ storage: sockaddr_storage) {
        var storage = storage
        switch Int32(storage.ss_family) {
        case AF_INET:
            let address = withUnsafeBytes(of: &storage) { $0.loadUnaligned(as: sockaddr_in.self) }
            bytes = withUnsafeBytes(of: address.sin_addr) { [UInt8]($0) }
            port = UInt16(bigEndian: address.sin_port)
        case AF_INET6:
            let address = withUnsafeBytes(of: &storage) { $0.loadUnaligned(as: sockaddr_in6.self) }
            let all = withUnsafeBytes(of: address.sin6_addr) { [UInt8]($0) }
            let isMapped = all[..<10].allSatisfy { $0 == 0 } && all[10] == 0xff && all[11] == 0xff
            bytes = isMapped ? Array(all[12...]) : all
            port = UInt16(bigEndian: address.sin6_port)
        default:
            return nil
        }
    }

    /// The numeric form: `192.0.2.1` or `2001:db8::1`.
    package var text: String {
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        return bytes.withUnsafeBytes { address in
            inet_ntop(isIPv4 ? AF_INET : AF_INET6, address.baseAddress, &buffer, socklen_t(buffer.count))
            return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }
}
