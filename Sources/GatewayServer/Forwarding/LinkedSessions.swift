import KeyStore
import KeyStorePostgreSQL
import Relay

/// What membership means for sessions that can be resumed through every gateway.
protocol MemberSessions: Sendable {
    /// Of another gateway.
    func heard(_ event: GatewayMembers.Event) async
    /// The others may have taken this gateway for dead, or the store has lost what it was told.
    func mayBeForgotten()
    /// This gateway isn't a member any more.
    func left(_ id: String) async
}

struct LinkedSessions: MemberSessions {
    private let store: FleetStore
    private let server: RelayServer
    private let directory: SessionDirectory

    init(_ store: FleetStore, _ server: RelayServer, _ directory: SessionDirectory) {
        self.store = store
        self.server = server
        self.directory = directory
    }

    /// The sessions of a gateway that is gone are lost: their clients are told at once. Every gateway that hears of it removes them from the directory; whoever is last
    /// removes nothing.
    func heard(_ event: GatewayMembers.Event) async {
        switch event {
        case .joined: break
        case .left(let member), .silent(let member):
            server.gatewayDied(member.id)
            await left(member.id)
        }
    }

    func mayBeForgotten() { directory.announceAll() }

    /// What can't be removed now stays: a session at a gateway that isn't a member counts as lost.
    func left(_ id: String) async { try? await store.registry.forgetSessions(of: id) }
}
