/// The store of a fleet: all that its gateways have in common. The fleet's code names no database, only this.
package protocol FleetStorage: SharedKeyRegistry, KeyMaintenance, DevelopmentTokenStore, AccountStore,
    SharedAccountStandings, SharedCounterWindowStore, SharedSessionDirectory, SharedHoldings, SharedMembership,
    SharedSecretStore, SharedBlockEntries
{
    /// As ``SharedKeyRegistry/present(then:)``, at a start; blocks.
    func presentBlocking() throws(KeyRegistryError) -> StorePresent

    /// Whether this role may do both steps of an erasure, at a start or reload; blocks.
    func mayEraseBlocking() throws(KeyRegistryError) -> Bool

    /// The same, for one who may wait.
    func mayErase() async throws(KeyRegistryError) -> Bool

    /// Commits a write that changes nothing; durable when it returns.
    func tryWriting() async throws(KeyRegistryError)

    /// The feed of the store's changes, for one reader.
    func makeFeed() -> any StoreFeed

    /// It wasn't reached, and isn't asked for a while.
    var isPaused: Bool { get }

    /// Calls that have no answer yet.
    var waitingCalls: Int { get }

    // MARK: Housekeeping

    /// Whether this gateway is to do the housekeeping now. Of all gateways that ask, one is told so in each pause.
    ///
    /// - Parameter milliseconds: since the last one was told so, at least.
    func beginUpkeep(pause milliseconds: Int) async throws(KeyRegistryError) -> Bool

    /// Remembers what the store has confirmed of families of refresh tokens. A store that knows less later is an older
    /// copy, in which no family is good.
    func keepWitness() async throws(KeyRegistryError)

    /// Forgets changes that every reader of the feed has had the time for.
    func forgetChanges() async throws(KeyRegistryError)

    /// Forgets sessions of gateways that aren't members any more.
    func forgetLostSessions() async throws(KeyRegistryError)

    /// Later calls fail.
    func close()
}

/// Where a gateway learns of all changes of a fleet's store.
package protocol StoreFeed: RevocationSource {
    /// What has changed since the last answer.
    ///
    /// - Parameter learn: is told the store's present as soon as the first reading is answered, whatever comes of the
    ///   rest.
    /// - Returns: nil while another call is under way; then `learn` isn't called.
    func news(
        _ learn: @Sendable (StorePresent) -> Void
    ) async throws(KeyRegistryError) -> StoreNews?

    /// All that ``news(_:)`` has answered has come to the gateway: what it tells again may be limited. Not while a call
    /// of that is under way.
    func told() async
}

extension StoreFeed {
    package func news() async throws(KeyRegistryError) -> StoreNews? { try await news { _ in } }
}

/// What a gateway says of itself, always the same.
package struct GatewayMembership: Sendable {
    package let id, name, version: String

    package init(id: String, name: String, version: String) {
        self.id = id
        self.name = name
        self.version = version
    }
}

/// The gateways of a fleet, in the store that they share.
package protocol SharedMembership: Sendable {
    /// Joins, or stays a member. Forgets gateways whose heartbeats stopped long ago, and dead ones of the same name,
    /// which this one has replaced.
    ///
    /// - Parameters:
    ///   - uptime: of this gateway, in milliseconds.
    ///   - madeAt: when the report was made, in the store's time or a little earlier.
    /// - Returns: all gateways, this one among them.
    func beat(
        _ member: GatewayMembership, uptime: Int64, _ report: GatewayMember.Report, madeAt: Int64?
    ) async throws(KeyRegistryError) -> GatewayMembers

    func leave(_ member: GatewayMembership, within milliseconds: Int) async throws(KeyRegistryError)
}

/// Secrets that the gateways of a fleet have in common, by their names: each is made by
/// ``SigningKeyStore/secret(named:creating:)``. The calls block.
package protocol SharedSecretStore: SigningKeyStore {
    /// The secrets whose names begin with `prefix`, by name.
    func secrets(prefix: String) throws(KeyRegistryError) -> [String: [UInt8]]

    func removeSecrets(_ names: [String]) throws(KeyRegistryError)
}

/// The entries that all gateways of a fleet block. The store takes them as they are.
package protocol SharedBlockEntries: Sendable {
    func blockedEntries() async throws(KeyRegistryError) -> [String]

    /// The same at a start; blocks.
    func blockedEntriesBlocking() throws(KeyRegistryError) -> [String]
}
