import FoundationEssentials
import Glibc
import Settings
import SwiftASN1
import X509

/// Where browsers find the gateway, as far as it can tell. Something in front of it may have quite another address: then the operator
/// says so, in PUBLIC_ORIGIN.
enum PageAddress {
    /// - Parameter port: the one that is listened on.
    /// - Returns: an origin, such as `https://mud.example.com:6200`.
    static func origin(of configuration: GatewayConfiguration, port: Int) -> String {
        if let origin = configuration.tickets.publicOrigin { return origin }
        let (hosts, tls) = (configuration.listener.hosts, configuration.tls)
        let isOne = hosts.count == 1 && !hosts[0].isWildcard
        let name = isOne ? "\(hosts[0])" : tls.flatMap(certificateName) ?? machineName
        let (scheme, usual) = tls == nil ? ("http", 80) : ("https", 443)
        return "\(scheme)://\(name)" + (port == usual ? "" : ":\(port)")
    }

    /// The first DNS name of the certificate that stands for one host.
    private static func certificateName(_ tls: GatewayConfiguration.TLS) -> String? {
        guard let text = try? NamedFile.text(tls.certificatePath),
            let leaf = try? Certificate(pemEncoded: text), let names = try? leaf.extensions.subjectAlternativeNames
        else { return nil }
        for case .dnsName(let name) in names where !name.hasPrefix("*") { return name }
        return nil
    }

    private static var machineName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "localhost" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
