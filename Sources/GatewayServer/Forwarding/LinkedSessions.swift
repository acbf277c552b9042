import KeyStore
import KeyStorePostgreSQL
import Relay

/// What membership means for sessions that can be resumed through every gateway.
protocol MemberSessions: Sendable {
    /// Of another gateway.
    func heard(_ event: GatewayMembers.Event)
    /// This gateway isn't a member any more.
    func left(_ id: String) async
}

struct LinkedSessions: MemberSessions {
    private let store: FleetStore
    private let server: RelayServer

    init(_ store: FleetStore, _ server: RelayServer) {
        self.store = store
        self.server = server
    }

    /// The sessions of a gateway that is gone are lost: their clients are told at once. Every gateway that hears of it removes them from the directory; whoever is last
    /// removes nothing. The heartbeats don't wait for that.
    func heard(_ event: GatewayMembers.Event) {
        switch event {
        case .joined: break
        case .left(let member), .silent(let member):
            server.gatewayDied(member.id)
            Task { await left(member.id) }
        }
    }

    /// What can't be removed now is removed by `FleetStore.forgetExpired`.
    func left(_ id: String) async { try? await store.registry.forgetSessions(of: id) }
}
