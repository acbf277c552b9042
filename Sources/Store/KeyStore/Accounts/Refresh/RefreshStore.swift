/// The families of refresh tokens of a store. A call may wait for a disk, a lock or another machine.
///
/// Each call is one step, atomic for all processes that share the store, and durable when it returns: a crash takes no
/// confirmed use back. A late repetition may be two steps: what it gives, and then its mark, so that a lost answer uses
/// nothing up. If the mark fails the answer holds, and the token may be repeated again.
///
/// A store that may have lost confirmed uses, because an older copy took its place, has no family: tokens that were
/// used would be good again.
package protocol RefreshStore: Sendable {
    /// Begins a family without the use of a passkey. Beyond ``RefreshLimits/maximumFamilies`` the account's family that
    /// was used longest ago ends.
    ///
    /// - Parameter askedAt: as ``RefreshUse/askedAt``: a family of which no client has heard ends none.
    func begin(_ family: RefreshFamily, askedAt: Int64?) async throws(KeyRegistryError) -> RefreshBeginning

    /// - Parameter mark: of the proof, which is spent in the same step; nil: nobody else could know it.
    func use(
        _ use: RefreshUse, spending mark: (SingleUseMark, StoreIncarnation)?
    ) async throws(KeyRegistryError) -> RefreshOutcome

    /// How many have ended. What was signed in by them ends, too.
    func end(_ families: RefreshEnding, at time: Int64) async throws(KeyRegistryError) -> Int

    /// Removes families that have expired, at most ``RefreshLimits/maximumExpired``.
    func expireFamilies(at time: Int64) async throws(KeyRegistryError) -> Int

    func families(of account: AccountID) async throws(KeyRegistryError) -> [RefreshFamily]
}

extension RefreshStore {
    package func begin(_ family: RefreshFamily) async throws(KeyRegistryError) -> RefreshBeginning {
        try await begin(family, askedAt: nil)
    }

    package func use(_ use: RefreshUse) async throws(KeyRegistryError) -> RefreshOutcome {
        try await self.use(use, spending: nil)
    }
}

/// Which families end.
package enum RefreshEnding: Hashable, Sendable {
    case family(RefreshFamilyID)
    case account(AccountID)
    case passkey(PasskeyMark)
    case device(KeyID)
    case all
}

package enum RefreshBeginning: Hashable, Sendable {
    case begun
    /// The account is closed or removed, or the passkey or device isn't its own any more.
    case ended
}
