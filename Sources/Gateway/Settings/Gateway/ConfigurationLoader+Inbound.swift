import Admission
import Reactors

/// The outside: where the gateway listens, its certificate, and the authorities of client certificates.
extension ConfigurationLoader {
    mutating func tls() -> GatewayConfiguration.TLS? {
        let hosts = read(\.listener).hosts
        let tls = read(\.inboundTLS)
        let settings = settings.inboundTLS
        guard tls.mode == .required else {
            checkPlainText(on: hosts, isAllowed: tls.allowsPlainText)
            return nil
        }
        if tls.allowsPlainText { warn(settings.allowsPlainText, "has no effect while INBOUND_TLS_MODE is required.") }
        requireForTLS(settings.certificatePath, tls.certificatePath)
        requireForTLS(settings.keyPath, tls.keyPath)
        guard let certificate = tls.certificatePath, let key = tls.keyPath else { return nil }
        let names = checkServerCertificate((settings.certificatePath, certificate), (settings.keyPath, key))
        return GatewayConfiguration.TLS(
            certificatePath: certificate, keyPath: key, names: names, keys: certificateKeys(certificate))
    }

    private mutating func requireForTLS(_ setting: LiveSetting<String?>, _ path: String?) {
        guard path == nil else { return }
        refuse(
            setting, "isn't set, and INBOUND_TLS_MODE is required",
            "Name the PEM file; scripts/make-dev-certs, which comes with the sources, makes one for trying the gateway out.",
            involving: [setting, settings.inboundTLS.mode])
    }

    /// Without TLS, anyone on the network path can read the credentials.
    private mutating func checkPlainText(on hosts: [NetworkHost], isAllowed: Bool) {
        let tls = settings.inboundTLS
        let isLocal = hosts.allSatisfy(\.isLoopback)
        if !isLocal && !isAllowed {
            refuse(
                tls.mode, "is off while BIND_HOST is an address that other machines can reach",
                "Use TLS or BIND_HOST=127.0.0.1. If a proxy in front of the gateway speaks TLS and nothing else can reach"
                    + " this port, set ALLOW_INSECURE_INBOUND_NO_TLS=true.",
                involving: [tls.mode, settings.listener.hosts, tls.allowsPlainText])
        } else if !isLocal {
            warn(tls.mode, "is off: anyone on the network path can read and change all traffic.")
        }
        let idle: [any AnySetting] = [tls.certificatePath, tls.keyPath, tls.minimumVersion, tls.nextCertificatePath]
        for setting in idle where isSet(setting) {
            warn(setting, "has no effect while INBOUND_TLS_MODE is off.")
        }
    }

    mutating func clientCertificates() -> GatewayConfiguration.ClientCertificates? {
        let files = read(\.clientAuthorities)
        let (settings, mode) = (settings.clientAuthorities, settings.inboundTLS.mode)
        guard let authority = files.authorityPath else {
            if files.revocationListPath != nil {
                refuse(
                    settings.revocationListPath, "is set without MTLS_CLIENT_CA_PATH",
                    "Name the authority whose certificates the list revokes, or remove the list.",
                    involving: [settings.authorityPath, mode])
            }
            return nil
        }
        if read(mode) == .off {
            refuse(
                settings.authorityPath, "is set while INBOUND_TLS_MODE is off",
                "Clients can't present certificates without TLS: use TLS, or remove the authority.",
                involving: [settings.authorityPath, mode])
        }
        checkClientAuthorities(
            (settings.authorityPath, authority),
            revocationLists: files.revocationListPath.map { (settings.revocationListPath, $0) })
        return GatewayConfiguration.ClientCertificates(
            authorityPath: authority, revocationListPath: files.revocationListPath)
    }

    /// Access tokens are issued to attested apps: without an app none are issued or verified.
    mutating func checkTokens(hasApps: Bool, hasAccounts: Bool, _ tls: GatewayConfiguration.TLS?) {
        guard !hasApps else { return checkOrigin(tls) }
        if read(settings.signedRequests.isOn) == .on {
            warn(settings.signedRequests.isOn, "has no effect while App Attest is off.")
        }
        if read(settings.developmentTokens.isAllowed) {
            warn(settings.developmentTokens.isAllowed, "has no effect while App Attest is off.")
        }
        guard !hasAccounts else { return }
        // The listener may be for metrics alone.
        if isSet(settings.internalListener.admits), internalAddress != nil {
            warn(settings.internalListener.admits, "has no effect while App Attest is off: /authz is answered 404.")
        }
    }

    /// Proofs are made for URLs, and `Host` alone doesn't say which are the gateway's.
    private mutating func checkOrigin(_ tls: GatewayConfiguration.TLS?) {
        let setting = settings.tickets.publicOrigin
        guard read(setting) == nil, tls?.names.first == nil else { return }
        let reason = tls == nil ? "INBOUND_TLS_MODE is off" : "the server's certificate has no name but wildcards"
        warn(
            setting,
            "isn't set, and \(reason): access tokens are off (404 public_origin_required). Set it to the origin that clients"
                + " use, like https://mud.example.com.")
    }

    /// Clients compare the name in their URL with the certificate's. A proxy that forwards requests shows them its own.
    mutating func checkPublicOrigin(_ tls: GatewayConfiguration.TLS?, _ proxies: SectionValues<ProxySection>) {
        let setting = settings.tickets.publicOrigin
        guard let tls, let origin = read(setting).flatMap(WebOrigin.init),
            !hasFailed(settings.inboundTLS.certificatePath),
            proxies.trusted.isEmpty || proxies.sendHeader, !tls.names.covers(origin)
        else { return }
        warn(
            setting,
            "isn't covered by the server's certificate, whose names are: \(tls.names). Clients refuse it there, unless a proxy in"
                + " front shows them another one.")
    }

    /// Two listeners on one port would share its clients.
    mutating func checkInternalListener() {
        let (internalListener, listener) = (settings.internalListener, settings.listener)
        switch internalAddress {
        case nil:
            for setting in [internalListener.admits, internalListener.body] as [any AnySetting] where isSet(setting) {
                warn(setting, "has no effect without ADMIN_BIND.")
            }
        case .unix(let path)?:
            guard let obstacle = NamedFile.obstacle(toListeningOn: path) else { return }
            fail(internalListener.binding, obstacle.problem, obstacle.remedy)
        case .loopback(_, let port)?, .network(_, let port)?:
            guard port != 0, Int(port) == read(listener.port) else { return }
            refuse(
                internalListener.binding, "has the port of WS_PORT, which clients reach", "Choose another port.",
                involving: [internalListener.binding, listener.port])
        }
    }
}
