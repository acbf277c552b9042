import Foundation

/// The loopback addresses that this machine has. Many containers have no IPv6.
package enum Loopback {
    package static let hasIPv6: Bool = {
        let descriptor = socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_addr = in6addr_loopback
        return withUnsafeBytes(of: &address) {
            bind(descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
        } == 0
    }()

    package static let addresses = ["127.0.0.1"] + (hasIPv6 ? ["::1"] : [])
}
