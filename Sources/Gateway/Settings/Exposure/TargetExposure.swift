import RelayCore
package import WireText

/// Whether other machines may reach a target on this machine directly, and so bypass the gate.
///
/// It is a warning, never an error: a firewall, which can't be seen here, may close the port.
struct TargetExposure: Sendable {
    /// A target with the setting that names it.
    struct Target: Sendable, Hashable {
        let setting: String
        let endpoint: TargetEndpoint
    }

    /// The page that says what to do.
    static let manual = "docs/RUNNING.md#close-the-muds-own-port"
    /// Listeners that a warning names.
    private static let maximumNamed = 4

    let machine: MachineSockets
    /// Where the gateway itself listens for clients.
    var own: OwnListener?

    /// One for each port, however many targets name it.
    func warnings(of targets: [Target]) -> [ConfigurationWarning] {
        var ports: Set<UInt16> = []
        return targets.compactMap { target in
            let port = target.endpoint.port
            guard machine.has(target.endpoint.host), !ports.contains(port) else { return nil }
            if own?.covers(target.endpoint) == true {
                ports.insert(port)
                return ConfigurationWarning(
                    setting: target.setting,
                    text:
                        "leads to port \(port) of this machine, which is WS_PORT, the gateway's own: clients would be connected to the"
                        + " gateway, or it can't start beside the service. Give one of the two another port.")
            }
            let open = machine.listening.filter { $0.port == port && !$0.address.isLoopback }.map(\.address)
            guard !open.isEmpty else { return nil }
            ports.insert(port)
            let named = open.map(\.text).sorted().prefix(Self.maximumNamed).joined(separator: ", ")
            return ConfigurationWarning(
                setting: target.setting,
                text:
                    "leads to port \(port) of this machine, which listens on \(named) too: unless a firewall closes it, clients"
                    + " can bypass the gate. See \(Self.manual).")
        }
    }
}

/// The gateway's own addresses for clients.
struct OwnListener: Sendable {
    let hosts: [NetworkHost]
    /// 0: any free one, which is no target's.
    let port: Int

    /// - Parameter endpoint: on this machine.
    func covers(_ endpoint: TargetEndpoint) -> Bool {
        guard Int(endpoint.port) == port else { return false }
        guard case .address(let address) = endpoint.host else { return true }
        return hosts.contains { host in
            guard host.isWildcard else { return IPAddress(text: host.text) == address }
            return host.kind == .ipv6 || address.isIPv4
        }
    }
}

/// The sockets that listen on this machine, and its addresses and names.
package struct MachineSockets: Sendable {
    var listening: Set<SocketAddress>
    package var addresses: Set<IPAddress>
    /// In lower case.
    var names: Set<String>

    /// A name that the resolver would have to look up isn't known to be this machine's.
    func has(_ host: TargetHost) -> Bool {
        switch host {
        case .name(let name): name == "localhost" || name.hasSuffix(".localhost") || names.contains(name)
        case .address(let address): address.isLoopback || addresses.contains(address)
        }
    }
}

extension IPAddress {
    /// 127.0.0.0/8 (RFC 1122 section 3.2.1.3) or ::1 (RFC 4291 section 2.5.3).
    var isLoopback: Bool {
        // Also for an address that was read in its mapped form.
        guard let plain = IPAddress(bytes: bytes) else { return false }
        return plain.isIPv4 ? plain.bytes.first == 127 : plain.bytes == [UInt8](repeating: 0, count: 15) + [1]
    }
}
