package import Admission
package import BlockingWork
package import KeyStore
package import Logging
import Observability
import Synchronization

/// The store of a fleet as a serving gateway uses it: what this gateway shares with the others, and what it knows of it
/// without asking. It names no database: whoever makes it opens one.
package final class FleetStore: Sendable {
    /// Signatures that wait for a thread at most.
    private static let maximumComputations = 256

    /// For the operator.
    package let name: String
    /// Of this process, among the fleet's gateways.
    package let member: FleetMemberID
    package let registry: any FleetStorage
    package let fleet: Fleet
    /// What this gateway knows of players' accounts.
    package let knownAccounts: AccountStandings
    package let grants: KnownGrants
    package let blocks: FleetBlocks
    package let counterWindow: FleetCounterWindow
    /// Rings when another process has changed something.
    package let alarm: Alarm
    private let upkeep: FleetUpkeep
    private let witnessBeats: WitnessBeats
    private let hasRight = Mutex(false)
    private let isFailing = Mutex(false)
    private let unreadable = Mutex(0)
    private let logger: Logger

    /// Returns when the store has answered, or throws.
    ///
    /// - Parameters:
    ///   - name: for the operator.
    ///   - upkeep: the same store, with connections of its own.
    ///   - alarm: rings when another process has changed something.
    ///   - witnessBeats: one is due when the store can be reached again.
    ///   - member: the id of the process that this one replaces.
    ///   - kinds: of entries of the block list that this gateway can read.
    ///   - signers: threads that verify signatures.
    package init(
        _ registry: any FleetStorage, upkeep: @autoclosure () -> any FleetStorage, name: String, alarm: Alarm,
        witnessBeats: WitnessBeats, member: String?, kinds: [BlockListKind], signers: Int, logger: Logger
    ) throws(KeyRegistryError) {
        (self.member, self.witnessBeats) = (FleetMemberID(member), witnessBeats)
        (self.name, self.alarm, self.logger, self.registry) = (name, alarm, logger, registry)
        do throws(KeyRegistryError) {
            fleet = try Self.join(registry, signers: signers)
            blocks = try FleetBlocks(registry, kinds: kinds, logger: logger)
        } catch {
            registry.close()
            throw error
        }
        counterWindow = FleetCounterWindow(registry)
        knownAccounts = AccountStandings { registry.standing(ofAccount: $0, then: $1) }
        self.upkeep = FleetUpkeep(upkeep())
        grants = KnownGrants(registry) { [standings = fleet.standings] in standings.isCurrent(at: .now) }
    }

    private static func join(_ registry: any FleetStorage, signers: Int) throws(KeyRegistryError) -> Fleet {
        let asked = MonotonicTime.now
        let present = try registry.presentBlocking()
        let answered = MonotonicTime.now
        let clock = FleetClock(.init(asked: asked, answered: answered, storeTime: present.time))
        let secrets = try FleetSecretStore(registry).keepUp(at: present.time)
        let identity = FleetIdentity(
            present.incarnation, began: present.began, secrets: secrets, clock: clock, at: answered)
        let threads = BlockingThreads("signatures", count: signers, maximumWaiting: maximumComputations)
        return Fleet(registry: registry, identity: identity, now: { .now }) { threads.start($0) }
    }

    // MARK: Upkeep

    /// Reads the secrets again, and makes the next generation if it is due. Blocks.
    package func keepSecrets(_ logger: Logger) {
        do throws(KeyRegistryError) {
            fleet.identity.replace(try FleetSecretStore(registry).keepUp(at: fleet.identity.time(at: .now)))
            isFailing.withLock { $0 = false }
        } catch {
            let isNews = isFailing.withLock { isFailing in
                defer { isFailing = true }
                return !isFailing
            }
            if isNews { logger.error("the fleet's secrets can't be read", metadata: [LogKeys.error: "\(error)"]) }
        }
    }

    func note(unreadableSigningKeys count: Int) {
        let isNews = unreadable.withLock { before in
            defer { before = count }
            return before != count
        }
        guard isNews, count > 0 else { return }
        logger.error(
            "signing keys in the database can't be read: has every gateway the same STORE_SECRETS_KEY_PATH?",
            metadata: [LogKeys.count: "\(count)"])
    }

    /// Whether this gateway may erase the keys of devices. The store is asked until the answer is yes. Blocks.
    ///
    /// - Returns: nil: the store doesn't answer now.
    package func mayErase() -> Bool? {
        if hasRight.withLock({ $0 }) { return true }
        guard let mayErase = try? registry.mayEraseBlocking() else { return nil }
        if mayErase { hasRight.withLock { $0 = true } }
        return mayErase
    }

    /// Has the database confirm what this gateway is a witness of, if that is due.
    package func keepWitness() async throws(KeyRegistryError) {
        if witnessBeats.isDue() { try await registry.keepWitness() }
    }

    /// Has the database forget what has expired, if no other gateway does.
    package func forgetExpired() async throws(KeyRegistryError) {
        try await upkeep.run(expiredAt: fleet.identity.time(at: .now) - FleetClock.tolerance)
    }
}
