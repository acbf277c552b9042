/// FLEET_BIND: where other gateways reach this one.
package struct FleetBinding: Sendable, Equatable {
    static let defaultPort: UInt16 = 6_210

    package let host: NetworkHost
    /// 0 takes any free one.
    package let port: UInt16
    /// `advertise=`; nil: `host` itself.
    package var advertised: NetworkHost?
}

extension SettingGrammar {
    /// An address, perhaps with a port, and perhaps with the host under which it is found.
    static func fleetBinding(_ text: String) throws(SettingProblem) -> FleetBinding? {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        var binding = try fleetAddress(parts[0])
        for option in parts.dropFirst() {
            guard option.hasPrefix("advertise="), binding.advertised == nil else {
                throw SettingProblem(
                    problem: "has an option that it can't have", remedy: "It may have `,advertise=HOST`, once.")
            }
            binding.advertised = try host(String(option.dropFirst("advertise=".count)))
        }
        return binding
    }

    /// IPv6 is in brackets if a port follows it.
    private static func fleetAddress(_ text: String) throws(SettingProblem) -> FleetBinding {
        if let host = NetworkHost.ipv4(text) ?? NetworkHost.ipv6(text) {
            return FleetBinding(host: host, port: FleetBinding.defaultPort)
        }
        guard let colon = text.lastIndex(of: ":"), let host = bracketed(text[..<colon]) else {
            throw SettingProblem(
                problem: "isn't an IP address",
                remedy: "Write one of this machine's addresses, perhaps with a port, like `10.0.0.11:6210` or"
                    + " `[2001:db8::1]:6210`.")
        }
        let port = try integer(String(text[text.index(after: colon)...]), in: 0...Int(UInt16.max))
        return FleetBinding(host: host, port: UInt16(port))
    }

    private static func bracketed(_ text: Substring) -> NetworkHost? {
        guard text.hasPrefix("["), text.hasSuffix("]") else { return NetworkHost.ipv4(String(text)) }
        return NetworkHost.ipv6(String(text.dropFirst().dropLast()))
    }
}
