/// The outside: where the gateway listens, its certificate, and whom it admits by certificate.
extension ConfigurationLoader {
    mutating func listener() -> GatewayConfiguration.Listener {
        let host = read(SettingTable.bindHost)
        let port = read(SettingTable.port)
        return GatewayConfiguration.Listener(host: host, port: port, tls: tls(listeningOn: host))
    }

    private mutating func tls(listeningOn host: NetworkHost) -> GatewayConfiguration.TLS? {
        let mode = read(SettingTable.inboundTLSMode)
        let allowsInsecure = read(SettingTable.allowInsecureInbound)
        let certificate = read(SettingTable.certificatePath)
        let key = read(SettingTable.keyPath)
        let timeout = read(SettingTable.handshakeTimeout)
        guard mode == .required else {
            checkPlainText(on: host, isAllowed: allowsInsecure)
            return nil
        }
        if allowsInsecure {
            warn(SettingTable.allowInsecureInbound, "has no effect while INBOUND_TLS_MODE is required.")
        }
        requireForTLS(SettingTable.certificatePath, certificate)
        requireForTLS(SettingTable.keyPath, key)
        guard let certificate, let key else { return nil }
        checkServerCertificate(certificate, key)
        return GatewayConfiguration.TLS(
            certificatePath: certificate, keyPath: key, handshakeTimeoutMilliseconds: timeout)
    }

    private mutating func requireForTLS(_ setting: Setting<String?>, _ path: String?) {
        guard path == nil else { return }
        refuse(
            setting.row.name, "isn't set, and INBOUND_TLS_MODE is required",
            "Name the PEM file; scripts/make-dev-certs makes one for trying the gateway out.",
            involving: [setting.row.name, SettingTable.inboundTLSMode.row.name])
    }

    /// Credentials on a wire that others share are there for the taking.
    private mutating func checkPlainText(on host: NetworkHost, isAllowed: Bool) {
        let names = [
            SettingTable.inboundTLSMode.row.name, SettingTable.bindHost.row.name,
            SettingTable.allowInsecureInbound.row.name,
        ]
        if !host.isLoopback && !isAllowed {
            refuse(
                SettingTable.inboundTLSMode.row.name,
                "is off while BIND_HOST is an address that other machines can reach",
                "Use TLS or BIND_HOST=127.0.0.1. Where something in front of the gateway speaks TLS, and nothing else"
                    + " can reach this port, set ALLOW_INSECURE_INBOUND_NO_TLS=true.", involving: names)
        } else if !host.isLoopback {
            warn(SettingTable.inboundTLSMode, "is off: whoever shares the wire reads and changes everything.")
        }
        for setting in [SettingTable.certificatePath, SettingTable.keyPath] where isSet(setting) {
            warn(setting, "has no effect while INBOUND_TLS_MODE is off.")
        }
    }

    mutating func clientCertificates() -> GatewayConfiguration.ClientCertificates? {
        let authority = read(SettingTable.clientCAPath)
        let list = read(SettingTable.clientCRLPath)
        let names = [SettingTable.clientCAPath.row.name, SettingTable.inboundTLSMode.row.name]
        guard let authority else {
            if list != nil {
                refuse(
                    SettingTable.clientCRLPath.row.name, "is set without MTLS_CLIENT_CA_PATH",
                    "Name the authority whose certificates the list revokes, or remove the list.", involving: names)
            }
            return nil
        }
        if read(SettingTable.inboundTLSMode) == .off {
            refuse(
                SettingTable.clientCAPath.row.name, "is set while INBOUND_TLS_MODE is off",
                "Without TLS nobody can present a certificate: use TLS, or remove the authority.", involving: names)
        }
        checkClientAuthorities(authority, revocationLists: list)
        return GatewayConfiguration.ClientCertificates(authorityPath: authority, revocationListPath: list)
    }
}
