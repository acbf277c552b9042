import KeyStore
import Logging
import Reactors
import Relay
import Settings
import Synchronization

/// Sessions through every gateway of the fleet (`FLEET_BIND`): made once at the start, and kept through reloads.
final class FleetLink: Sendable {
    /// What the directory of sessions announces to.
    let sessions: FleetSessions
    private let relays: FleetRelays
    private let listener: GatewayConfiguration.FleetListener
    private let members = KnownMembers()

    /// - Parameters:
    ///   - listener: nil without FLEET_BIND.
    ///   - limits: read at each connection.
    init?(
        _ listener: GatewayConfiguration.FleetListener?, _ store: FleetStore?,
        _ limits: @escaping @Sendable () -> RelayLimits, logger: Logger
    ) {
        guard let listener, let store else { return nil }
        self.listener = listener
        sessions = FleetSessions(store.registry, member: store.member, members: members, logger: logger)
        relays = FleetRelays(sessions, limits: limits())
    }

    /// Listens for the other gateways, after `RelayServer.listen`, and tells them where.
    ///
    /// - Parameter sockets: of another process.
    func listen(
        by server: RelayServer, _ part: EdgePart, sockets: InheritedSockets, as member: FleetMember
    ) throws(GatewayError) {
        let inherited = sockets.fleet(at: listener.host, listener.port)
        let port: UInt16
        do throws(ReactorError) {
            port = try server.listenForGateways(
                host: listener.host, port: listener.port, part,
                access: GatewayAccess(peerName: GatewayConfiguration.FleetListener.peerName),
                maximum: FleetRelay.defaultMaximum, inherited: inherited.map(\.descriptor), accepts: sockets.accepts)
        } catch .bindFailed(let address, let reason) {
            throw .fleetListener("\(address): \(reason)")
        } catch {
            throw .fleetListener("\(error)")
        }
        members.replace(member)
        member.announce(address: GatewayAddress(host: listener.advertised, port: port).text)
    }

    /// From the files that the settings name now; nil: they name none.
    func parts(_ live: LiveConfiguration, edge: EdgeSettings) throws(GatewayError) -> FleetParts? {
        guard let files = live.fleetFiles else { return nil }
        return try FleetTLS(files).parts(relays, edge: edge)
    }
}

/// The other gateways, from memory. They aren't known before this gateway is one of them.
private final class KnownMembers: FleetMembers {
    private let member = Mutex<FleetMember?>(nil)

    func replace(_ member: FleetMember) { self.member.withLock { $0 = member } }

    var silent: SilentGateways { member.withLock { $0 }?.silent ?? SilentGateways() }

    func hurry() { member.withLock { $0 }?.hurry() }
}
