import Reactors
import Relay
import Settings

/// What connects this gateway to the others of its fleet, made from the settings and the files that they name. A reload
/// makes a new one.
struct FleetTLS {
    private let listener: GatewayConfiguration.FleetListener
    private let tls: TLSSettings
    private let material: TLSMaterial
    private let dialling: TargetTLS

    /// - Parameter files: those that `listener` names, or those of a later reload.
    init(
        _ listener: GatewayConfiguration.FleetListener, _ files: GatewayConfiguration.FleetFiles
    ) throws(GatewayError) {
        self.listener = listener
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

    /// For `RelaySettings.fleetRelay`, once at the start.
    func makeRelay(
        _ whereabouts: any SessionWhereabouts, _ limits: @escaping @Sendable () -> RelayLimits
    ) -> FleetRelay {
        FleetRelay(whereabouts, tls: dialling, limits: limits())
    }

    /// Listens, after `RelayServer.listen`.
    ///
    /// - Parameters:
    ///   - edge: for clients.
    ///   - sockets: of another process.
    /// - Returns: where the other gateways find this one: for its row among the fleet's gateways.
    func listen(
        by server: RelayServer, edge: EdgeSettings, sockets: InheritedSockets
    ) throws(GatewayError) -> (host: String, port: UInt16) {
        let inherited = sockets.fleet(at: listener.host, listener.port)
        do throws(ReactorError) {
            let port = try server.listenForGateways(
                host: listener.host, port: listener.port, edge: settings(edge), material: material,
                access: GatewayAccess(peerName: GatewayConfiguration.FleetListener.peerName),
                maximum: FleetRelay.defaultMaximum,
                inherited: inherited.map(\.descriptor), accepts: sockets.accepts)
            return (listener.advertised, port)
        } catch .bindFailed(let address, let reason) {
            throw .fleetListener("\(address): \(reason)")
        } catch {
            throw .fleetListener("\(error)")
        }
    }

    /// At a reload, after `RelayServer.replace`: certificates, authorities and the limits of requests.
    func replace(in server: RelayServer, _ fleetRelay: FleetRelay, edge: EdgeSettings) {
        fleetRelay.replace(dialling)
        server.replaceFleetEdge(settings(edge), material: material)
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
