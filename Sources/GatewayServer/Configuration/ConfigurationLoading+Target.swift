import Admission
import Reactors
import RelayCore

/// The inside: which services are reached, by whom, and what is spoken with them.
extension ConfigurationLoader {
    mutating func target() -> GatewayConfiguration.Target? {
        let host = read(SettingTable.targetHost)
        let port = read(SettingTable.targetPort)
        let timeout = read(SettingTable.dialTimeout)
        let mode = read(SettingTable.targetMode)
        let allowed = read(SettingTable.targetAllowlist)
        let ports = read(SettingTable.targetPorts)
        let routes = read(SettingTable.routes)
        let tls = targetTLS(routes)
        let proxyProtocol = read(SettingTable.proxyProtocol)
        let keepAlive = read(SettingTable.targetKeepAlive)
        guard let host, let port else { return nil }
        guard let targetHost = TargetHost(host.text) else {
            fail(SettingTable.targetHost, "isn't a host that can be dialled", "Write a host name or an IP address.")
            return nil
        }
        let policy = targetPolicy(
            TargetSettings(
                mode: mode, standard: TargetEndpoint(host: targetHost, port: UInt16(port)), routes: routes,
                allowed: allowed, ports: ports, requiresCredentials: read(SettingTable.requireAppAuth)))
        guard let policy else { return nil }
        if mode == .arbitrary { warnOfArbitraryTargets(on: ports) }
        return GatewayConfiguration.Target(
            host: host, port: port, dialTimeoutMilliseconds: timeout, policy: policy, routes: routes, tls: tls,
            proxyProtocol: proxyProtocol, keepAliveSeconds: keepAlive)
    }

    /// Each mode with what it needs, and nothing that it doesn't use: an entry that is ignored is a hole that looks closed.
    private mutating func targetPolicy(_ settings: TargetSettings) -> TargetPolicy? {
        do throws(TargetFaults) {
            return try TargetPolicy(settings)
        } catch {
            let names = [
                SettingTable.targetMode.row.name, SettingTable.targetAllowlist.row.name,
                SettingTable.targetPorts.row.name, SettingTable.requireAppAuth.row.name,
            ]
            for entry in error.entries {
                refuse(
                    SettingTable.targetMode.row.name, "can't be used so: \(entry.fault)",
                    "See docs/CONFIGURATION.md for what each mode needs.", involving: names)
            }
            return nil
        }
    }

    private mutating func warnOfArbitraryTargets(on ports: [ClosedRange<UInt16>]) {
        warn(
            SettingTable.targetMode,
            "is arbitrary: whoever is admitted reaches any public address from this machine, on TARGET_PORTS.")
        let open = Set(ports.joined())
        if open.contains(where: { $0 <= Self.lastSystemPort && !Self.telnetPorts.contains($0) }) {
            warn(
                SettingTable.targetPorts,
                "opens ports up to \(Self.lastSystemPort) beside telnet's (23, 992): mail, web and other services listen there."
            )
        }
        if open.count > Self.manyPorts {
            warn(SettingTable.targetPorts, "opens \(open.count) ports: name those on which MUDs listen.")
        }
    }

    /// RFC 6335 section 6.
    private static let lastSystemPort: UInt16 = 1_023
    private static let telnetPorts: [UInt16] = [23, 992]
    /// More than these are no list of the places where MUDs listen.
    private static let manyPorts = 2_000

    private mutating func targetTLS(_ routes: [Route]) -> GatewayConfiguration.Target.TLS {
        let mode = read(SettingTable.targetTLSMode)
        let authority = read(SettingTable.targetCAPath)
        let pins = read(SettingTable.targetPins)
        if let authority { checkTargetAuthorities(authority) }
        let usesTLS = mode != .plain || routes.contains { ($0.options.tls ?? .plain) != .plain }
        for (name, isSet) in [
            (SettingTable.targetCAPath.row.name, authority != nil), (SettingTable.targetPins.row.name, !pins.isEmpty),
        ] where isSet && !usesTLS {
            refuse(
                name, "is set while no target is reached over TLS", "Set MUD_TLS_MODE, or remove it.",
                involving: [name, SettingTable.targetTLSMode.row.name, SettingTable.routes.row.name])
        }
        if authority != nil, !pins.isEmpty {
            refuse(
                SettingTable.targetCAPath.row.name, "is set besides MUD_TLS_PIN, which alone would count",
                "Remove one of the two: a pin trusts a key whoever signed it.",
                involving: [SettingTable.targetCAPath.row.name, SettingTable.targetPins.row.name])
        }
        warnOfPins(pins, mode, routes)
        return GatewayConfiguration.Target.TLS(mode: mode, authorityPath: authority, pins: pins)
    }

    /// Not an error: without its pin a target with a certificate of its own making isn't reached over TLS at all. But a pin seems to say
    /// more than `prefer` keeps.
    private mutating func warnOfPins(_ pins: [PublicKeyPin], _ mode: TargetTLSMode, _ routes: [Route]) {
        guard !pins.isEmpty, mode == .prefer || routes.contains(where: { $0.options.tls == .prefer }) else { return }
        warn(
            SettingTable.targetPins,
            "doesn't hold where TLS is `prefer`: whoever keeps TLS from coming about gets plain text, pin or not. Use `required`."
        )
    }

    mutating func telnet() -> GatewayConfiguration.TelnetOptions {
        GatewayConfiguration.TelnetOptions(
            encoding: read(SettingTable.encoding), mxp: read(SettingTable.mxp),
            maximumSubnegotiationBytes: read(SettingTable.maximumSubnegotiationBytes),
            maximumCompressionRatio: read(SettingTable.maximumCompressionRatio),
            inflatedBytesPerSecond: read(SettingTable.inflatedBytesPerSecond))
    }

    mutating func dialects() -> GatewayConfiguration.Dialects {
        GatewayConfiguration.Dialects(
            standard: read(SettingTable.defaultDialect), waitMilliseconds: read(SettingTable.dialectWait),
            connectWaitSeconds: read(SettingTable.connectWait))
    }

    mutating func tickets() -> GatewayConfiguration.Tickets {
        let lifetime = read(SettingTable.ticketLifetime)
        let maximum = read(SettingTable.maximumTickets)
        let path = read(SettingTable.controlSocketPath)
        let servesWebClient = read(SettingTable.enableWebClient)
        let publicOrigin = read(SettingTable.publicOrigin)
        if let path, path.utf8.count > Self.maximumSocketPathBytes {
            fail(
                SettingTable.controlSocketPath, "is longer than \(Self.maximumSocketPathBytes) bytes",
                "The system allows no longer path for a socket: use a shorter one.")
        }
        return GatewayConfiguration.Tickets(
            lifetimeSeconds: lifetime, maximum: maximum, controlSocketPath: path, servesWebClient: servesWebClient,
            publicOrigin: publicOrigin)
    }

    /// For the gateway itself: a tool may look at a socket that it couldn't make.
    mutating func checkControlSocket(_ path: String) {
        guard let obstacle = ConfigurationLoadingFile.obstacle(toListeningOn: path) else { return }
        fail(SettingTable.controlSocketPath, obstacle.problem, obstacle.remedy)
    }

    /// Of `sockaddr_un` on Linux, without its final NUL.
    private static let maximumSocketPathBytes = 107

    mutating func proxies() -> GatewayConfiguration.Proxies {
        let trusted = read(SettingTable.trustedProxies)
        let header = read(SettingTable.trustedProxyHeader)
        let sendHeader = read(SettingTable.inboundProxyProtocol)
        if sendHeader, trusted.isEmpty {
            refuse(
                SettingTable.inboundProxyProtocol.row.name, "is true, and no proxy is trusted",
                "Name the proxies in TRUSTED_PROXY_CIDRS.",
                involving: [SettingTable.inboundProxyProtocol.row.name, SettingTable.trustedProxies.row.name])
        }
        if header != SettingTable.trustedProxyHeader.defaultValue, trusted.isEmpty {
            refuse(
                SettingTable.trustedProxyHeader.row.name, "is set, and no proxy is trusted",
                "Name the proxies in TRUSTED_PROXY_CIDRS, or remove it.",
                involving: [SettingTable.trustedProxyHeader.row.name, SettingTable.trustedProxies.row.name])
        }
        if trusted.contains(where: \.isEverything) {
            fail(
                SettingTable.trustedProxies, "trusts every address there is",
                "Then each client chooses the address that limits and logs see: name the proxies.")
        }
        return GatewayConfiguration.Proxies(
            trusted: TrustedProxies(trusted, header: header), sendHeader: sendHeader)
    }
}
