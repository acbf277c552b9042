import Admission
import Reactors
import RelayCore
import WireText

/// The WebSockets of one reactor whose sessions other gateways have. On the reactor's thread only.
struct RelayTable {
    private var relays: [Int: (peer: String, remote: any RelayedClient)] = [:]
    private var nextNumber = 0

    var count: Int { relays.count }

    /// - Returns: the name for `remove`.
    mutating func makeNumber() -> Int {
        defer { nextNumber += 1 }
        return nextNumber
    }

    mutating func insert(_ remote: any RelayedClient, to peer: FleetPeer, as number: Int) {
        relays[number] = (peer.id, remote)
    }

    mutating func remove(_ number: Int) { relays[number] = nil }

    /// Those to one gateway, or all of them.
    func relays(to peer: String?) -> [any RelayedClient] {
        relays.values.filter { peer == nil || $0.peer == peer }.map(\.remote)
    }
}

extension SessionTable {
    /// Ends WebSockets whose sessions other gateways have. The sessions wait for their clients, which may come back
    /// through any gateway.
    func closeRelayed(to peer: String? = nil, _ reason: CloseReason) {
        for remote in relays.relays(to: peer) { remote.close(code: reason.code, reason: reason.text) }
    }

    /// The same for clients that this gateway wouldn't admit any more. The gateways that have their sessions end those
    /// by themselves.
    func closeRelayed(_ reason: CloseReason, where isMeant: (Principal, IPAddress) -> Bool) {
        for remote in relays.relays(to: nil) {
            guard let client = remote.admitted, isMeant(client.principal, client.address) else { continue }
            remote.close(code: reason.code, reason: reason.text)
        }
    }
}

extension RelayServer {
    /// A gateway of the fleet is dead, and its sessions with it: their clients here are told at once.
    package func gatewayDied(_ id: String) {
        onEveryTable { $0.closeRelayed(to: id, .gatewayLost) }
    }
}
