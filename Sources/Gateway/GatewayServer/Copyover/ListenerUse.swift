import Reactors
import Relay

/// What a listening socket is for. A process listens on nothing else: a copyover hands over the sockets of each.
enum ListenerUse: String, Codable, Sendable, CaseIterable {
    case edge, fleet, internalListener, control
}

extension Gateway {
    /// They stay this process' own: another one gets copies.
    func listeningSockets(for use: ListenerUse) -> [Int32] {
        switch use {
        case .edge: pool.listeningSockets
        case .fleet: pool.listeningSocketsForGateways
        case .internalListener: server.internalListeningSocket.map { [$0] } ?? []
        case .control: control?.listeningSocket.map { [$0] } ?? []
        }
    }

    /// Whether the gateway removes the file of a Unix socket at its end.
    func ownsFile(of use: ListenerUse) -> Bool {
        switch use {
        case .edge, .fleet: false
        case .internalListener: ownsInternalFile
        case .control: true
        }
    }
}
