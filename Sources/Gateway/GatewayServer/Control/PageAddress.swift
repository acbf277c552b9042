import Admission
import Glibc
import Settings

/// The gateway's address for browsers, as far as the gateway knows it. A proxy may have a different address; then the
/// operator sets PUBLIC_ORIGIN.
enum PageAddress {
    /// - Parameter port: the listening port.
    /// - Returns: an origin, such as `https://mud.example.com:6200`.
    static func origin(of configuration: GatewayConfiguration, port: Int) -> String {
        if let origin = configuration.tickets.publicOrigin { return origin }
        let (hosts, tls) = (configuration.listener.hosts, configuration.tls)
        let isOne = hosts.count == 1 && !hosts[0].isWildcard
        let name = isOne ? "\(hosts[0])" : tls?.names.first ?? machineName
        let (scheme, usual) = tls == nil ? ("http", 80) : ("https", 443)
        return "\(scheme)://\(name)" + (port == usual ? "" : ":\(port)")
    }

    private static var machineName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "localhost" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
