/// What operators do with many keys, or with all that is stored about a device. A call may wait for a disk, a lock or
/// another machine.
package protocol KeyMaintenance: KeyRegistry {
    /// As ``KeyRegistry/keys(after:limit:)``, but a record that can't be read is named instead of ending the list.
    func listing(after: KeyID?, limit: Int) async throws(KeyRegistryError) -> [ListedKey]

    /// Forgets keys that haven't been used since a time. Whether they are idle is decided in the transaction, so a key
    /// that a gateway has just admitted stays.
    ///
    /// - parameter ids: of them at least one is handled; the batch says how many.
    func prune(_ ids: [KeyID], idleSince time: Int64) async throws(KeyRegistryError) -> PrunedBatch

    /// The first step of an erasure: the key is marked as revoked, which gateways look for. Durable when it returns.
    ///
    /// - Returns: whether gateways have to notice it before the second step.
    func beginErasure(of id: KeyID, at time: Int64) async throws(KeyRegistryError) -> Bool

    /// The second step: removes all rows that name the key, or the thumbprint of a device's key.
    ///
    /// - Parameter holders: the identities that the device has had; their next tickets are removed, too.
    func finishErasure(of id: KeyID, holders: [HolderMark]) async throws(KeyRegistryError) -> Erasure

    /// Keys whose erasure has begun before a time, and hasn't ended, in any order.
    func unfinishedErasures(begunBefore time: Int64, limit: Int) async throws(KeyRegistryError) -> [KeyID]

    func places(ofDevice device: KeyID) async throws(KeyRegistryError) -> [DevelopmentPlace]

    /// After many keys were forgotten: lets the store give their room back.
    func settle() async throws(KeyRegistryError)

    /// Overwrites what was erased in the store's own log, if it has one.
    ///
    /// - Returns: false if somebody holds it up.
    func emptyLog() async throws(KeyRegistryError) -> Bool
}

/// A store whose files are a server's.
extension KeyMaintenance {
    package func settle() async throws(KeyRegistryError) {}
    package func emptyLog() async throws(KeyRegistryError) -> Bool { true }
}

/// What one transaction of a pruning has done.
package struct PrunedBatch: Hashable, Sendable {
    /// Those that were still idle; the others have been used or revoked meanwhile.
    package let forgotten: Set<KeyID>
    /// How many of the given keys were looked at, from the beginning. The rest needs another transaction.
    package let handled: Int

    package init(forgotten: Set<KeyID>, handled: Int) { (self.forgotten, self.handled) = (forgotten, handled) }
}

/// A device's place on a development token.
package struct DevelopmentPlace: Hashable, Sendable {
    package let token: DevelopmentTokenID
    package let name: String
    package let firstUsedAt: Int64
    package let lastUsedAt: Int64

    package init(token: DevelopmentTokenID, name: String, firstUsedAt: Int64, lastUsedAt: Int64) {
        (self.token, self.name, self.firstUsedAt, self.lastUsedAt) = (token, name, firstUsedAt, lastUsedAt)
    }
}

/// What was done to a key in the erasure of its device.
package enum KeyErasure: Hashable, Sendable {
    case unknown
    /// Every row is gone.
    case removed
    /// The key was revoked: its identifier and the time of the revocation stay, and keep it out. All else is gone.
    case reducedToRevocation
}

/// What the erasure of a device did.
package struct Erasure: Hashable, Sendable {
    /// How long gateways that can't be asked are given to close the device's sessions: two looks at
    /// its store (``RevocationSource/longestPause``), of which one may fail.
    package static let notice: Duration = .milliseconds(2_500)

    package let key: KeyErasure
    /// Places on development tokens that the device had. They are free again.
    package let places: Int

    package init(key: KeyErasure, places: Int) { (self.key, self.places) = (key, places) }
}
