import Admission
import Reactors
import RelayCore
import WireText

/// The WebSockets of one reactor whose sessions other gateways have. On the reactor's thread only.
struct ForwardTable {
    private var forwards: [Int: (peer: String, forward: any ForwardedClient)] = [:]
    private var nextNumber = 0

    var count: Int { forwards.count }

    /// - Returns: the name for `remove`.
    mutating func makeNumber() -> Int {
        defer { nextNumber += 1 }
        return nextNumber
    }

    mutating func insert(_ forward: any ForwardedClient, to peer: FleetPeer, as number: Int) {
        forwards[number] = (peer.id, forward)
    }

    mutating func remove(_ number: Int) { forwards[number] = nil }

    /// Those to one gateway, or all of them.
    func forwards(to peer: String?) -> [any ForwardedClient] {
        forwards.values.filter { peer == nil || $0.peer == peer }.map(\.forward)
    }
}

extension SessionTable {
    /// Ends WebSockets whose sessions other gateways have. The sessions wait for their clients, which may come back
    /// through any gateway.
    func closeForwards(to peer: String? = nil, _ reason: CloseReason) {
        for forward in forwards.forwards(to: peer) { forward.close(code: reason.code, reason: reason.text) }
    }

    /// The same for clients that this gateway wouldn't admit any more. The gateways that have their sessions end those
    /// by themselves.
    func closeForwards(_ reason: CloseReason, where isMeant: (Principal, IPAddress) -> Bool) {
        for forward in forwards.forwards(to: nil) {
            guard let client = forward.admitted, isMeant(client.principal, client.address) else { continue }
            forward.close(code: reason.code, reason: reason.text)
        }
    }
}

extension RelayServer {
    /// A gateway of the fleet is dead, and its sessions with it: their clients here are told at once.
    package func gatewayDied(_ id: String) {
        onEveryTable { $0.closeForwards(to: id, .gatewayLost) }
    }
}
