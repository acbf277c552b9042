import Reactors
import Relay
import Settings

/// What connects this gateway to the others of its fleet, made from the settings and the files that they name. A reload
/// makes a new one.
struct FleetTLS {
    private let tls: TLSSettings
    private let material: TLSMaterial
    private let dialling: TargetTLS

    init(_ files: GatewayConfiguration.FleetFiles) throws(GatewayError) {
        // Both are read from the same pair, and a link may be switched meanwhile.
        let pair = NamedFile.pair(files.certificatePath, files.keyPath)
        tls = TLSSettings(
            certificatePath: pair.first, privateKeyPath: pair.second, clientCAPath: files.authorityPath)
        var target = TargetTLSSettings(mode: .required, caPath: files.authorityPath)
        target.mutual = MutualTLS(
            certificatePath: pair.first, privateKeyPath: pair.second,
            peerName: GatewayConfiguration.FleetListener.peerName)
        do throws(TLSMaterialError) {
            material = try TLSMaterial(tls)
        } catch {
            throw .fleetListener("TLS could not be set up: \(error)")
        }
        do throws(TargetTLSSettingsError) {
            dialling = try TargetTLS(target)
        } catch {
            throw .fleetListener("TLS toward the other gateways could not be set up: \(error)")
        }
    }

    /// - Parameter edge: for clients.
    func parts(_ relays: FleetRelays, edge: EdgeSettings) -> FleetParts {
        FleetParts(relay: FleetRelay(relays, tls: dialling), listener: EdgePart(settings(edge), material: material))
    }

    private func settings(_ edge: EdgeSettings) -> EdgeSettings {
        var settings = edge
        settings.tls = tls
        settings.limits.tlsHandshakeMilliseconds = Self.handshakeMilliseconds
        settings.trustsProxy = { _ in false }
        return settings
    }

    /// Another gateway is near.
    private static let handshakeMilliseconds = 5_000
}

/// What a configuration makes of a gateway's link to the others.
struct FleetParts {
    /// To sessions of the others.
    let relay: FleetRelay
    /// For clients that they pass on.
    let listener: EdgePart
}
