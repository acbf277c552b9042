/// How many sessions each client has at each gateway of a fleet. Shared by all gateways, and lost with the store's
/// incarnation: each gateway knows its own.
package protocol SharedHoldings: Sendable {
    /// Replaces what the store has of these clients at this gateway.
    func note(_ holdings: [Holding], of gateway: String) async throws(KeyRegistryError)

    /// Sessions at other gateways that live. Clients without any are left out.
    ///
    /// Of two gateways that note a session at the same moment and then ask, at least one learns of the other's.
    func sessionsElsewhere(
        of holders: [HolderMark], than gateway: String
    ) async throws(KeyRegistryError) -> [HolderMark: Int]

    /// Has another gateway end a session of this client that has no connection.
    ///
    /// - Returns: false if there is none, or all of them are to end already.
    func makeRoom(for holder: HolderMark, at gateway: String) async throws(KeyRegistryError) -> Bool

    /// How many sessions of which clients this gateway has to end. Each is told once.
    func takeEvictions(of gateway: String) async throws(KeyRegistryError) -> [HolderMark: Int]

    /// Forgets what gateways noted that aren't members any more.
    func forgetHoldings() async throws(KeyRegistryError)
}

/// The SHA-256 of a client's identity.
package struct HolderMark: Hashable, Sendable {
    package static let byteCount = 32

    package let bytes: [UInt8]

    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }
}

/// The sessions of one client at one gateway.
package struct Holding: Hashable, Sendable {
    package let holder: HolderMark
    package let sessions: Int
    /// Those of them that wait for their client.
    package let detached: Int

    package init(_ holder: HolderMark, sessions: Int, detached: Int) {
        self.holder = holder
        self.sessions = sessions
        self.detached = detached
    }
}
