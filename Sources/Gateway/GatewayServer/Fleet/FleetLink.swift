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
    let fleetRelay: FleetRelay
    private let listener: GatewayConfiguration.FleetListener
    private let first: FleetTLS
    private let members = KnownMembers()

    /// - Parameters:
    ///   - listener: nil without FLEET_BIND.
    ///   - limits: read at each connection.
    init?(
        _ listener: GatewayConfiguration.FleetListener?, _ store: FleetStore?,
        _ limits: @escaping @Sendable () -> RelayLimits, logger: Logger
    ) throws(GatewayError) {
        guard let listener, let store else { return nil }
        self.listener = listener
        first = try FleetTLS(listener, listener.files)
        sessions = FleetSessions(store.registry, member: store.member, members: members, logger: logger)
        fleetRelay = first.makeRelay(sessions, limits)
    }

    /// Listens for the other gateways, and tells them where.
    func listen(
        by server: RelayServer, edge: EdgeSettings, sockets: InheritedSockets, as member: FleetMember
    ) throws(GatewayError) {
        let place = try first.listen(by: server, edge: edge, sockets: sockets)
        members.replace(member)
        member.announce(address: GatewayAddress(host: place.host, port: place.port).text)
    }

    /// What a reload would replace, or why it can't.
    func renewed(_ live: LiveConfiguration) throws(GatewayError) -> FleetTLS? {
        guard let files = live.fleetFiles else { return nil }
        return try FleetTLS(listener, files)
    }
}

/// The other gateways, from memory. They aren't known before this gateway is one of them.
private final class KnownMembers: FleetMembers {
    private let member = Mutex<FleetMember?>(nil)

    func replace(_ member: FleetMember) { self.member.withLock { $0 = member } }

    var silent: SilentGateways { member.withLock { $0 }?.silent ?? SilentGateways() }

    func hurry() { member.withLock { $0 }?.hurry() }
}

/// Where a gateway listens for the others, as its row says it: `gw1.example.org:6210` or `[2001:db8::1]:6210`.
struct GatewayAddress: Hashable {
    /// Of a name of DNS, with brackets and a port.
    private static let maximumBytes = 300

    let host: String
    let port: UInt16

    init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// - Parameter text: of another gateway's row: longer text, and other than ASCII, is no address.
    init?(_ text: String) {
        guard text.utf8.count <= Self.maximumBytes, text.utf8.allSatisfy({ $0 < 0x80 }),
            let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...])
        else {
            return nil
        }
        var host = text[..<colon]
        if host.first == "[", host.last == "]" {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty, port > 0 else { return nil }
        self.init(host: String(host), port: port)
    }

    var text: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
