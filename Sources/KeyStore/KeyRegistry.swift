/// The memory of the gate: which keys have been attested, how far their counters have come, and which are revoked.
///
/// All methods may be called from any thread. Those of the hot path say so; the others may wait for the disk and belong
/// off the reactors. A registry decides nothing about admission. It keeps two promises, though, that the gate relies on:
/// a counter never falls, and only `restore` lifts a revocation.
package protocol KeyRegistry: Sendable {
    /// Records a newly verified attestation; durable (fsync) when it returns. Not for reactors.
    ///
    /// A known key takes over app, environment, trust root, receipt, validation category and bundle version, and keeps its
    /// counter unless the new one is higher, its first registration, its last use. A revoked key isn't touched at all.
    func enrol(_ key: DeviceKey) throws(KeyRegistryError) -> Enrolment

    /// All that is known of a key, revoked or not. It never waits for a writer.
    func key(_ id: KeyID) throws(KeyRegistryError) -> DeviceKey?

    /// Looks up what the check of an assertion needs of a key, revoked or not, as it is at this moment. For reactors: it never waits for a
    /// writer.
    func standing(of id: KeyID) throws(KeyRegistryError) -> KeyStanding?

    /// Raises the counter if, and only if, the key is known, not revoked, and its counter is lower: one atomic step, also
    /// between processes. For reactors: it waits at most the registry's busy limit.
    ///
    /// What it has returned as `.advanced` survives the death of the process. It need not survive a power cut: challenges
    /// die with the process that issued them, so that an assertion from before can't be used again in any case.
    ///
    /// - parameter time: when the key was used, in Unix milliseconds.
    func advanceCounter(of id: KeyID, to counter: UInt32, at time: Int64) throws(KeyRegistryError) -> CounterAdvance

    /// Up to `limit` keys in the order of their identifiers, from the first one behind `after`. An empty page is the end.
    func keys(after: KeyID?, limit: Int) throws(KeyRegistryError) -> [DeviceKey]

    /// Closes the gate to a key. False when it is unknown. A second revocation changes neither time nor reason of the first.
    func revoke(_ id: KeyID, reason: String, at time: Int64) throws(KeyRegistryError) -> Bool

    /// Lifts a revocation; the counter stays. False when the key is unknown.
    func restore(_ id: KeyID) throws(KeyRegistryError) -> Bool

    /// Removes a key, which its device may then register anew.
    func forget(_ id: KeyID) throws(KeyRegistryError) -> Forgetting
}

/// What became of a registration.
package enum Enrolment: Hashable, Sendable {
    case enrolled
    case alreadyEnrolled
    /// The key is known and revoked: nothing was changed.
    case revoked
}

/// What became of an attempt to raise a counter. Everything but `.advanced` leaves the key as it was.
package enum CounterAdvance: Hashable, Sendable {
    case advanced
    case notHigher(stored: UInt32)
    case unknownKey
    case revoked
}

/// What became of a request to forget a key.
package enum Forgetting: Hashable, Sendable {
    case forgotten
    case unknown
    /// Forgetting a revoked key would let its device register it again, which would lift the revocation. Restore it first.
    case refusedRevoked
}
