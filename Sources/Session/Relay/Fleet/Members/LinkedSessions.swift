package import KeyStore

/// What membership means for sessions that can be resumed through every gateway.
package protocol MemberSessions: Sendable {
    /// The gateway has left, or is gone: the sessions of its that are left are lost.
    func gone(_ id: String)
    /// This gateway isn't a member any more.
    func left(_ id: String) async
    /// Whether something listens where a gateway was, from this one; nil: it couldn't be tried.
    func isAnswered(at address: String) async -> Bool?
    /// Announces every session to an incarnation of the store.
    func announceAll(in incarnation: StoreIncarnation?)
    func areAnnounced(in incarnation: StoreIncarnation) -> Bool
}

package struct LinkedSessions: MemberSessions {
    private let store: FleetStore
    private let server: RelayServer
    private let sessions: FleetSessions
    private let directory: SessionDirectory

    package init(_ store: FleetStore, _ server: RelayServer, _ sessions: FleetSessions, _ directory: SessionDirectory) {
        self.store = store
        self.server = server
        self.sessions = sessions
        self.directory = directory
    }

    /// Clients are told at once. The rows stay until the store has forgotten the gateway, by
    /// `FleetStore.forgetExpired`: who asks for one of these sessions then learns whose it was.
    package func gone(_ id: String) {
        // Where this process was, its successor is, and says itself how it is.
        if !store.member.isFormer(id) { server.gatewayDied(id) }
    }

    package func left(_ id: String) async { try? await store.registry.forgetSessions(of: id) }

    package func isAnswered(at address: String) async -> Bool? {
        guard let address = GatewayAddress(address) else { return false }
        return await server.isAnswered(host: address.host, port: address.port)
    }

    package func announceAll(in incarnation: StoreIncarnation?) {
        sessions.announce(in: incarnation) { directory.announceAll() }
    }

    package func areAnnounced(in incarnation: StoreIncarnation) -> Bool { sessions.isComplete(in: incarnation) }
}
