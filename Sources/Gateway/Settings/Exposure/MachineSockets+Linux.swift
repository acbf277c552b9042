import Glibc
import RelayCore
import WireText

extension MachineSockets {
    /// Bytes that are read of a table. Listening sockets come first in it, and connections after them.
    private static let maximumTableBytes = 4 << 20

    /// This machine as it is now, as far as this process may see it: a container sees its own sockets only.
    package static func current() -> MachineSockets {
        MachineSockets(
            // Where processes see nothing of /proc but processes (ProcSubset=pid of systemd), there is no /proc/net.
            listening: ["/proc/self/net/tcp", "/proc/self/net/tcp6"].reduce(into: []) { $0.formUnion(sockets($1)) },
            addresses: interfaceAddresses(), names: hostName().map { [$0] } ?? [])
    }

    /// Empty if the table can't be read: there is nothing to warn of then.
    private static func sockets(_ path: String) -> Set<SocketAddress> {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var (table, total) = (KernelSocketTable(), 0)
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while total < maximumTableBytes {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            table.feed(buffer[..<count])
            total += count
        }
        table.finish()
        return table.listening
    }

    private static func interfaceAddresses() -> Set<IPAddress> {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return [] }
        defer { freeifaddrs(list) }
        var addresses: Set<IPAddress> = []
        var next = list
        while let entry = next?.pointee {
            if let bytes = entry.ifa_addr.flatMap(addressBytes), let address = IPAddress(bytes: bytes) {
                addresses.insert(address)
            }
            next = entry.ifa_next
        }
        return addresses
    }

    private static func addressBytes(_ address: UnsafeMutablePointer<sockaddr>) -> [UInt8]? {
        switch CInt(address.pointee.sa_family) {
        case AF_INET:
            address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { pointer in
                withUnsafeBytes(of: pointer.pointee.sin_addr) { Array($0) }
            }
        case AF_INET6:
            address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { pointer in
                withUnsafeBytes(of: pointer.pointee.sin6_addr) { Array($0) }
            }
        default: nil
        }
    }

    private static func hostName() -> String? {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return nil }
        let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return text.isEmpty ? nil : text.lowercased()
    }
}

extension LoadedConfiguration {
    /// All warnings: those of the settings, and those of the machine as it is now, which a later look may find changed.
    package var warningsNow: [ConfigurationWarning] {
        let settings = GatewaySettings.all.target
        let targets =
            [TargetExposure.Target(setting: settings.host.row.name, endpoint: configuration.standardTarget)]
            + configuration.target.routes.map {
                TargetExposure.Target(setting: settings.routes.row.name, endpoint: $0.endpoint)
            }
        let own = OwnListener(hosts: configuration.listener.hosts, port: configuration.listener.port)
        return warnings + TargetExposure(machine: .current(), own: own).warnings(of: targets)
    }
}
