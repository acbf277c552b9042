import Glibc
import WireText

extension SocketAddress {
    /// nil unless it is IPv4 or IPv6.
    init?(_ storage: sockaddr_storage) {
        var storage = storage
        switch Int32(storage.ss_family) {
        case AF_INET:
            let end = withUnsafeBytes(of: &storage) { $0.loadUnaligned(as: sockaddr_in.self) }
            self.init(bytes: withUnsafeBytes(of: end.sin_addr) { [UInt8]($0) }, port: UInt16(bigEndian: end.sin_port))
        case AF_INET6:
            let end = withUnsafeBytes(of: &storage) { $0.loadUnaligned(as: sockaddr_in6.self) }
            self.init(bytes: withUnsafeBytes(of: end.sin6_addr) { [UInt8]($0) }, port: UInt16(bigEndian: end.sin6_port))
        default:
            return nil
        }
    }
}
