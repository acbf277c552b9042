import RelayCore

/// The inside: which services are reached, by whom, and what is spoken with them.
extension ConfigurationLoader {
    mutating func target() -> GatewayConfiguration.Target? {
        let host = read(SettingTable.targetHost)
        let port = read(SettingTable.targetPort)
        let timeout = read(SettingTable.dialTimeout)
        let mode = read(SettingTable.targetMode)
        let allowlist = read(SettingTable.targetAllowlist)
        let ports = read(SettingTable.targetPorts)
        let routes = read(SettingTable.routes)
        let tls = targetTLS()
        let proxyProtocol = read(SettingTable.proxyProtocol)
        let keepAlive = read(SettingTable.targetKeepAlive)
        guard let host, let port else { return nil }
        return GatewayConfiguration.Target(
            host: host, port: port, dialTimeoutMilliseconds: timeout, mode: mode, allowlist: allowlist, ports: ports,
            routes: routes, tls: tls, proxyProtocol: proxyProtocol, keepAliveSeconds: keepAlive)
    }

    private mutating func targetTLS() -> GatewayConfiguration.Target.TLS {
        let mode = read(SettingTable.targetTLSMode)
        let authority = read(SettingTable.targetCAPath)
        let pins = read(SettingTable.targetPins)
        if let authority { checkTargetAuthorities(authority) }
        return GatewayConfiguration.Target.TLS(mode: mode, authorityPath: authority, pins: pins)
    }

    /// Each mode with what it needs, and nothing that it doesn't use: an entry that is ignored is a hole that looks closed.
    mutating func checkTargets(_ target: GatewayConfiguration.Target?, _ gate: GatewayConfiguration.Gate) {
        guard let target else { return }
        require(SettingTable.targetAllowlist, target.mode == .allowlist, isEmpty: target.allowlist.isEmpty)
        require(SettingTable.targetPorts, target.mode == .arbitrary, isEmpty: target.ports.isEmpty)
        if target.mode == .arbitrary, !gate.requiresCredentials {
            refuse(
                SettingTable.targetMode.row.name, "is arbitrary while REQUIRE_APP_AUTH is false",
                "Anybody could reach any public address through this gateway: ask for credentials, or list the targets.",
                involving: [SettingTable.targetMode.row.name, SettingTable.requireAppAuth.row.name])
        }
        let usesTLS = target.tls.mode != .plain || target.routes.contains { ($0.options.tls ?? .plain) != .plain }
        for (name, isSet) in [
            (SettingTable.targetCAPath.row.name, target.tls.authorityPath != nil),
            (SettingTable.targetPins.row.name, !target.tls.pins.isEmpty),
        ] where isSet && !usesTLS {
            refuse(
                name, "is set while no target is reached over TLS", "Set MUD_TLS_MODE, or remove it.",
                involving: [name, SettingTable.targetTLSMode.row.name, SettingTable.routes.row.name])
        }
    }

    private mutating func require(_ setting: Setting<some Any>, _ isNeeded: Bool, isEmpty: Bool) {
        let names = [setting.row.name, SettingTable.targetMode.row.name]
        if isNeeded, isEmpty {
            refuse(setting.row.name, "isn't set, and TARGET_MODE needs it", setting.row.meaning, involving: names)
        } else if !isNeeded, !isEmpty {
            refuse(
                setting.row.name, "is set, and TARGET_MODE doesn't use it", "Change TARGET_MODE, or remove it.",
                involving: names)
        }
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
            standard: read(SettingTable.defaultDialect), waitMilliseconds: read(SettingTable.dialectWait))
    }

    mutating func tickets() -> GatewayConfiguration.Tickets {
        let lifetime = read(SettingTable.ticketLifetime)
        let maximum = read(SettingTable.maximumTickets)
        let path = read(SettingTable.controlSocketPath)
        let servesWebClient = read(SettingTable.enableWebClient)
        if let path, path.utf8.count > Self.maximumSocketPathBytes {
            fail(
                SettingTable.controlSocketPath, "is longer than \(Self.maximumSocketPathBytes) bytes",
                "The system allows no longer path for a socket: use a shorter one.")
        }
        return GatewayConfiguration.Tickets(
            lifetimeSeconds: lifetime, maximum: maximum, controlSocketPath: path, servesWebClient: servesWebClient)
    }

    /// Of `sockaddr_un` on Linux, without its final NUL.
    private static let maximumSocketPathBytes = 107

    mutating func proxies() -> GatewayConfiguration.Proxies {
        let trusted = read(SettingTable.trustedProxies)
        let sendHeader = read(SettingTable.inboundProxyProtocol)
        if sendHeader, trusted.isEmpty {
            refuse(
                SettingTable.inboundProxyProtocol.row.name, "is true, and no proxy is trusted",
                "Name the proxies in TRUSTED_PROXY_CIDRS.",
                involving: [SettingTable.inboundProxyProtocol.row.name, SettingTable.trustedProxies.row.name])
        }
        return GatewayConfiguration.Proxies(trusted: trusted, sendHeader: sendHeader)
    }
}
