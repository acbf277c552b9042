import Reactors
import SwiftASN1
import WireText
import X509

extension GatewayConfiguration {
    /// How this gateway and the others of its fleet reach each other.
    package struct FleetListener: Sendable, Equatable {
        package let host: String
        package let port: UInt16
        /// In this gateway's certificate.
        package let advertised: String
        /// PEM, as in ``TLS``.
        package let certificatePath: String
        package let keyPath: String
        package let authorityPath: String
        package let peerName: String
        package let maximumConnections: Int
        package let idleSeconds: Int
        package let queueBytes: Int

        /// With the files of another one: everything else changes with a restart only.
        package func withFiles(of other: Self) -> Self {
            Self(
                host: host, port: port, advertised: advertised, certificatePath: other.certificatePath,
                keyPath: other.keyPath, authorityPath: other.authorityPath, peerName: peerName,
                maximumConnections: maximumConnections, idleSeconds: idleSeconds, queueBytes: queueBytes)
        }
    }
}

/// The listener for the other gateways of a fleet.
extension ConfigurationLoader {
    /// Nil without FLEET_BIND, and after an error.
    mutating func fleetListener(hasStore: Bool) -> GatewayConfiguration.FleetListener? {
        let (section, values) = (settings.fleet, read(\.fleet))
        guard let host = values.host else {
            for setting in section.files where isSet(setting) { warn(setting, "has no effect without FLEET_BIND.") }
            if isSet(section.advertised) { warn(section.advertised, "has no effect without FLEET_BIND.") }
            return nil
        }
        if !hasStore, !isSet(settings.keyStore.url) {
            refuse(
                section.host, "is set without STORE_URL",
                "A fleet shares a database; a single gateway doesn't need the listener.",
                involving: [section.host, settings.keyStore.url])
        }
        checkFleetPort(values.port)
        checkFleetIdle(values.idleSeconds)
        let files = section.files.map { ($0, read($0)) }
        for (setting, path) in files where path == nil {
            refuse(
                setting, "isn't set, and FLEET_BIND is", "Gateways show certificates to each other: name the PEM file.",
                involving: [setting, section.host])
        }
        let advertised = fleetAddress(host, values.advertised)
        guard let certificate = files[0].1, let key = files[1].1, let authority = files[2].1, let advertised else {
            return nil
        }
        checkServerCertificate((section.certificatePath, certificate), (section.keyPath, key))
        checkFleetNames(certificate, [advertised.text, values.peerName])
        checkFleetAuthority(authority)
        return GatewayConfiguration.FleetListener(
            host: host.text, port: UInt16(values.port), advertised: advertised.text, certificatePath: certificate,
            keyPath: key, authorityPath: authority, peerName: values.peerName,
            maximumConnections: values.maximumConnections, idleSeconds: values.idleSeconds,
            queueBytes: values.queueBytes)
    }

    private mutating func fleetAddress(_ host: NetworkHost, _ advertised: NetworkHost?) -> NetworkHost? {
        guard advertised == nil, host.isWildcard else { return advertised ?? host }
        refuse(
            settings.fleet.advertised, "isn't set, and FLEET_BIND is every address",
            "Write the name or the address under which the other gateways reach this machine.",
            involving: [settings.fleet.advertised, settings.fleet.host])
        return nil
    }

    /// Two listeners on one port would share its clients.
    private mutating func checkFleetPort(_ port: Int) {
        let fleet = settings.fleet
        guard port != 0 else { return }
        if port == read(settings.listener.port) {
            refuse(
                fleet.port, "is the port of WS_PORT, which clients reach", "Choose another port.",
                involving: [fleet.port, settings.listener.port])
        }
        switch read(settings.internalListener.address) {
        case .loopback(_, let other)?, .network(_, let other)?:
            guard port == Int(other) else { return }
            refuse(
                fleet.port, "is the port of ADMIN_BIND", "Choose another port.",
                involving: [fleet.port, settings.internalListener.address])
        default: break
        }
    }

    private mutating func checkFleetIdle(_ seconds: Int) {
        guard seconds <= read(settings.session.pingIntervalSeconds) else { return }
        refuse(
            settings.fleet.idleSeconds, "isn't longer than PING_INTERVAL_SECONDS",
            "A quiet client's gateway could be taken for lost before it is heard; three times as long is usual.",
            involving: [settings.fleet.idleSeconds, settings.session.pingIntervalSeconds])
    }

    /// The others check the same at each connection.
    private mutating func checkFleetNames(_ path: String, _ names: [String]) {
        let setting = settings.fleet.certificatePath
        guard !hasFailed(setting), let leaf = certificates(setting, path).first else { return }
        let shown = (try? leaf.extensions.subjectAlternativeNames).map { Array($0) } ?? []
        func isShown(_ name: String) -> Bool {
            shown.contains { shown in
                switch shown {
                case .dnsName(let text): text.lowercased() == name.lowercased()
                case .ipAddress(let bytes):
                    IPAddress(text: name).map { $0 == IPAddress(bytes: Array(bytes.bytes)) } ?? false
                default: false
                }
            }
        }
        for name in names where !isShown(name) {
            fail(
                setting, "names a certificate without the name \(name)",
                "It needs FLEET_ADVERTISE and FLEET_PEER_NAME as its subjectAltName.")
            return
        }
    }

    /// A certificate of a player or of a tool must not be a gateway's.
    private mutating func checkFleetAuthority(_ path: String) {
        let setting = settings.fleet.authorityPath
        checkClientAuthorities((setting, path), revocationLists: nil)
        guard !hasFailed(setting) else { return }
        let own = Set(certificates(setting, path))
        for other in [settings.clientAuthorities.authorityPath, settings.internalTLS.authorityPath] {
            guard let path = read(other), !hasFailed(other), !own.isDisjoint(with: certificates(other, path)) else {
                continue
            }
            refuse(
                setting, "has an authority of \(other.name)",
                "Use an authority for the gateways alone: its certificates name clients.", involving: [setting, other])
        }
    }
}

extension FleetSection {
    /// All of them or none.
    var files: [Setting<String?>] { [certificatePath, keyPath, authorityPath] }
}
