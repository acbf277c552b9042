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
        /// At the start; a reload reads them again.
        package let files: FleetFiles

        /// The name that the certificates of all gateways have, and no other certificate of that authority.
        package static let peerName = "gateway.portcullis.internal"
    }

    package struct FleetFiles: Sendable, Equatable {
        /// PEM, as in ``TLS``.
        package let certificatePath: String
        package let keyPath: String
        package let authorityPath: String
    }
}

/// The listener for the other gateways of a fleet.
extension ConfigurationLoader {
    /// Nil without FLEET_BIND, and after an error.
    mutating func fleetListener(hasStore: Bool) -> GatewayConfiguration.FleetListener? {
        let section = settings.fleet
        guard let binding = read(section.binding) else {
            for setting in section.files where isSet(setting) { warn(setting, "has no effect without FLEET_BIND.") }
            return nil
        }
        if !hasStore, !isSet(settings.keyStore.url) {
            refuse(
                section.binding, "is set without STORE_URL",
                "A fleet shares a database; a single gateway doesn't need the listener.",
                involving: [section.binding, settings.keyStore.url])
        }
        checkFleetPort(Int(binding.port))
        let files = section.files.map { ($0, read($0)) }
        for (setting, path) in files where path == nil {
            refuse(
                setting, "isn't set, and FLEET_BIND is", "Gateways show certificates to each other: name the PEM file.",
                involving: [setting, section.binding])
        }
        let advertised = fleetAddress(binding)
        guard let certificate = files[0].1, let key = files[1].1, let authority = files[2].1, let advertised else {
            return nil
        }
        checkServerCertificate((section.certificatePath, certificate), (section.keyPath, key))
        checkFleetNames(certificate, [advertised.text, GatewayConfiguration.FleetListener.peerName])
        checkFleetAuthority(authority)
        return GatewayConfiguration.FleetListener(
            host: binding.host.text, port: binding.port, advertised: advertised.text,
            files: GatewayConfiguration.FleetFiles(
                certificatePath: certificate, keyPath: key, authorityPath: authority))
    }

    private mutating func fleetAddress(_ binding: FleetBinding) -> NetworkHost? {
        guard binding.advertised == nil, binding.host.isWildcard else { return binding.advertised ?? binding.host }
        refuse(
            settings.fleet.binding, "is every address, and has no `advertise=`",
            "Write the name or the address under which the other gateways reach this machine.",
            involving: [settings.fleet.binding])
        return nil
    }

    /// Two listeners on one port would share its clients.
    private mutating func checkFleetPort(_ port: Int) {
        let fleet = settings.fleet
        guard port != 0 else { return }
        if port == read(settings.listener.port) {
            refuse(
                fleet.binding, "has the port of WS_PORT, which clients reach", "Choose another port.",
                involving: [fleet.binding, settings.listener.port])
        }
        switch internalAddress {
        case .loopback(_, let other)?, .network(_, let other)?:
            guard port == Int(other) else { return }
            refuse(
                fleet.binding, "has the port of ADMIN_BIND", "Choose another port.",
                involving: [fleet.binding, settings.internalListener.binding])
        default: break
        }
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
                "It needs what FLEET_BIND advertises and \(GatewayConfiguration.FleetListener.peerName) as its subjectAltName."
            )
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
    var files: [LiveSetting<String?>] { [certificatePath, keyPath, authorityPath] }
}
