/// A key store: which keys were attested, the counter of each, and which are revoked.
///
/// This is the asynchronous part, which every store has. A call may wait for a disk, a lock or another machine, and
/// never blocks the calling thread. A store makes no admission decisions, but the gate relies on two guarantees: a
/// counter never decreases, and only `restore` lifts a revocation.
///
/// `standing` and `advanceCounter` are here too, so that a store without the synchronous part (one that is queried over
/// a network) can answer the gate: both are one step per upgrade, atomic across all processes that share the store. The
/// third such step, spending a challenge, belongs to `Challenges`: its state can be in memory as long as one process
/// issues the challenges.
package protocol KeyRegistry: Sendable {
    /// As in `ImmediateKeyRegistry`.
    func standing(of id: KeyID) async throws(KeyRegistryError) -> KeyStanding?

    /// As in `ImmediateKeyRegistry`.
    func advanceCounter(
        of id: KeyID, to counter: UInt32, at time: Int64
    ) async throws(KeyRegistryError) -> CounterAdvance

    /// As in `ImmediateKeyRegistry`.
    func use(
        _ counter: CounterUse, of id: KeyID, at time: Int64
    ) async throws(KeyRegistryError) -> CounterAdvance

    /// Records a newly verified attestation; durable (fsync) when it returns.
    ///
    /// For a known key, app, environment, trust root, receipt, validation category and bundle version are replaced. It
    /// keeps its first registration and last use, and its counter unless the new one is higher. A revoked key isn't
    /// changed at all.
    func enrol(_ key: DeviceKey) async throws(KeyRegistryError) -> Enrolment

    /// The whole record of a key, revoked or not.
    func key(_ id: KeyID) async throws(KeyRegistryError) -> DeviceKey?

    /// Up to `limit` keys in the order of their identifiers, starting after `after`. An empty page is the end.
    func keys(after: KeyID?, limit: Int) async throws(KeyRegistryError) -> [DeviceKey]

    /// Refuses a key from now on; durable when it returns. False when it is unknown. A second revocation changes
    /// neither time nor reason of the first.
    func revoke(_ id: KeyID, reason: String, at time: Int64) async throws(KeyRegistryError) -> Bool

    /// Lifts a revocation; the counter stays. False when the key is unknown.
    func restore(_ id: KeyID) async throws(KeyRegistryError) -> Bool

    /// Removes a key. Its device may then register it again.
    func forget(_ id: KeyID) async throws(KeyRegistryError) -> Forgetting
}

/// The synchronous part of a key store. A reactor may call it during a decision, because it answers at once.
///
/// "At once" means from memory, or from a local file within the store's busy limit. A store that can't guarantee this
/// has no such part.
package protocol ImmediateKeyRegistry: Sendable {
    /// The current data of a key, revoked or not, that the check of an assertion needs. It never waits for a writer.
    func standing(of id: KeyID) throws(KeyRegistryError) -> KeyStanding?

    /// Raises the counter if, and only if, the key is known, not revoked, and its counter is lower: one atomic step,
    /// also between processes. It waits at most the store's busy limit.
    ///
    /// A counter change reported as `.advanced` survives a crash of the process. It need not survive a power cut:
    /// challenges end with the process that issued them, so an old assertion can't be replayed in any case.
    ///
    /// - parameter time: when the key was used, in Unix milliseconds.
    func advanceCounter(of id: KeyID, to counter: UInt32, at time: Int64) throws(KeyRegistryError) -> CounterAdvance

    /// Uses a counter of a key that is known and not revoked, by the rule of ``KeyCounters``: one atomic step, also
    /// between processes. Each counter is used once at most. Otherwise as ``advanceCounter(of:to:at:)``.
    func use(_ counter: CounterUse, of id: KeyID, at time: Int64) throws(KeyRegistryError) -> CounterAdvance
}

/// The outcome of a registration.
package enum Enrolment: Hashable, Sendable {
    case enrolled
    case alreadyEnrolled
    /// The key is known and revoked: nothing was changed.
    case revoked
}

/// The outcome of an attempt to use a counter. Every case but `.advanced` leaves the key unchanged.
package enum CounterAdvance: Hashable, Sendable {
    case advanced
    /// It isn't above the highest one, and not an unused one in the window either.
    case notHigher(stored: UInt32)
    /// It is above the highest one by more than ``CounterUse/maximumRise``.
    case tooHigh(stored: UInt32)
    case unknownKey
    case revoked
}

/// The outcome of a request to forget a key.
package enum Forgetting: Hashable, Sendable {
    case forgotten
    case unknown
    /// Forgetting a revoked key would let its device register it again, which would lift the revocation. Restore it
    /// first.
    case refusedRevoked
}
